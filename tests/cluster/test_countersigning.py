"""Two persons, each a user of this host with a state folder of their own: what one alone can never carry out."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.cluster.conftest import KFIX, Said
from tests.cluster.skewed import skewed
from tests.waiting import seconds

#: Users that every Linux has: kernel and password file agree on their names.
PLANS, SIGNS, APPLIES = 1, 2, 3
HOUR = 3600


class Person:
    """One user. `late` sets the clock of this command that many seconds ahead."""

    def __init__(self, uid, lab, folder, clock):
        self.uid, self.lab, self.folder, self.clock = uid, lab, folder, clock
        self.home = folder / f"home-{uid}"
        self.home.mkdir()
        os.chown(self.home, uid, uid)

    def runbook(self, *words, late=0):
        env = os.environ | {"KFIX_STATE_HOME": str(self.home), "HOME": str(self.home), "NO_COLOR": "1"}
        env |= {"COLUMNS": "300"} | (self.clock(late) if late else {})
        # Another user may not read root's folders, in which the interpreter may lie: so much is granted, and no more.
        reads = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
        user = ("setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", *reads)
        command = [*user, KFIX, "runbook", *map(str, words)]
        done = subprocess.run(
            command, env=env, cwd=self.home, capture_output=True, text=True, check=False, timeout=seconds(90)
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def plans(self, policy):
        path = self.home / f"plan-{len(list(self.home.glob('*.json')))}.json"
        where = ("--bootstrap-server", self.lab.bootstrap_servers)
        said = self.runbook("plan", "controller-reelect", "--policy", policy, "--output-file", path, *where)
        assert said.code == 0, said.out + said.err
        path.chmod(0o644)
        return path

    def signs(self, plan, code=0, late=0):
        path = self.home / f"signed-{len(list(self.home.glob('*.json')))}.json"
        said = self.runbook("countersign", plan, "--output-file", path, "--reason", "the controller hangs", late=late)
        assert said.code == code, said.out + said.err
        return said if code else path

    def applies(self, plan, policy, *more, code, late=0):
        [step] = json.loads(plan.read_text())["steps"]
        words = ("apply", "--plan", plan, "--policy", policy, "--ack", f"{step['id']}={step['phrase']}", *more)
        said = self.runbook(*words, "--bootstrap-server", self.lab.bootstrap_servers, late=late)
        assert said.code == code, said.out + said.err
        return " ".join((said.out + said.err).split())


@pytest.fixture
def folder():
    """A folder that other users reach, which those of pytest are not."""
    path = Path(tempfile.mkdtemp(prefix="kfix-persons-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_two_persons_carry_out_what_neither_can_alone(lab, folder):
    with lab.access() as access:
        before = int(access._zk.get("/controller_epoch")[0])
    policy = folder / "policy.yaml"
    policy.write_text("apiVersion: kfix/v1\nkind: Policy\ngates: {controller.reelect: two_person}\n")
    clock = skewed(folder)
    ann, bob, eve = (Person(uid, lab, folder, clock) for uid in (PLANS, SIGNS, APPLIES))
    plan = ann.plans(policy)

    # One person: without a signature, with their own, with one that they copied, and after the other one signed.
    assert "--countersign FILE" in ann.applies(plan, policy, code=4)
    assert "a second person must sign it" in ann.signs(plan, code=3).err
    signed = bob.signs(plan)
    assert "bin signed it and is applying the plan" in bob.applies(plan, policy, "--countersign", signed, code=4)
    copied = ann.home / "copied.json"
    shutil.copyfile(signed, copied)
    os.chown(copied, PLANS, PLANS)
    assert "it names uid 2, but the file belongs to uid 1" in ann.applies(plan, policy, "--countersign", copied, code=4)
    named = json.loads(signed.read_text()) | {"by": "daemon", "uid": PLANS}
    copied.write_text(json.dumps(named))
    assert "daemon signed it" in eve.applies(plan, policy, "--countersign", copied, code=4)

    # Another plan than the signed one: altered, altered with a name of its own, or made again.
    altered = ann.home / "altered.json"
    altered.write_text(plan.read_text().replace('"by": "daemon"', '"by": "root"'))
    assert altered.read_text() != plan.read_text()
    ann.applies(altered, policy, "--countersign", signed, code=2)
    again = ann.plans(policy)
    short = json.loads(plan.read_text())["plan_id"][:8]
    assert f"it is for plan {short}, not for" in ann.applies(again, policy, "--countersign", signed, code=4)

    # Too late to sign, and too late to apply.
    assert "there is nothing to sign" in bob.signs(plan, code=3, late=3 * HOUR).err
    assert "expired at" in ann.applies(plan, policy, "--countersign", signed, code=3, late=3 * HOUR)
    with lab.access() as access:
        assert int(access._zk.get("/controller_epoch")[0]) == before

    # Two persons; a third one may apply as well, but a plan is carried out once.
    assert "PROVED" in ann.applies(plan, policy, "--countersign", signed, code=0)
    # The runs before it were declined, and are journalled, too.
    journal = max(ann.home.glob("kfix/runs/*/journal.ndjson"), key=lambda path: path.stat().st_mtime)
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert {record["who"]["user"] for record in records} == {"daemon"}
    assert [r["answer"] for r in records if r["type"] == "gate.answered"] == ["flag --ack, countersigned by bin"]
    ann.applies(plan, policy, "--countersign", signed, code=3)
    # Eve's state folder does not know that run; the cluster does.
    assert "nothing was changed" in eve.applies(plan, policy, "--countersign", signed, code=0)
    with lab.access() as access:
        assert int(access._zk.get("/controller_epoch")[0]) == before + 1
