"""An authorizer, and the least rights of kfix: each one that is taken away is named, and nothing is called healthy."""

import itertools
import os
import re
from pathlib import Path

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import make_target
from kfix.heal.live.clusters import open_cluster
from kfix.lab import Lab, LabSpec
from kfix.lab.clients.rights import grant, revoke
from kfix.lab.definition.protocols import CLUSTER, READING, Right
from tests.cluster.conftest import Kfix, lab_of_its_own
from tests.cluster.remedy import Operator
from tests.security.rights import (
    ALTER,
    DELETE_GROUPS,
    OF_ACTIONS,
    OF_BROKERS,
    OF_TOPICS,
    READ_GROUPS,
    READ_TOPICS,
    WORDS,
    WRITE,
    WRITE_TOPICS,
)
from tests.waiting import wait_until

LINES = (("2.7.1", "zk"), ("3.9.2", "zk"), ("3.9.2", "kraft"), ("4.3.1", "kraft"))
ALL = tuple(itertools.product(LINES, (("mtls", None), ("sasl_plaintext", "SCRAM-SHA-256"))))
CORE = ((LINES[0], ("mtls", None)), (LINES[3], ("sasl_plaintext", "SCRAM-SHA-256")))
LABS = ALL if os.environ.get("KFIX_TEST_SECURITY") == "all" else CORE
#: {right: option of kafka-acls.sh that grants it}
OPTIONS = {
    "CLUSTER": "--cluster",
    "TOPIC": "--topic '*'",
    "GROUP": "--group '*'",
    "TRANSACTIONAL_ID": "--transactional-id '*'",
}
#: With ZooKeeper, the settings of topics are read there.
NOT_NEEDED = {("zk", Right("DESCRIBE_CONFIGS", "TOPIC"))}
#: For a diagnosis that reads all within its deadline, on a machine that others use too.
_QUIET_SECONDS = 60
#: What an authorizer logs of a refused request, in 2.7.1, 3.9.2 and 4.3.1.
DENIED = re.compile(r"is denied operation", re.IGNORECASE)
#: The key of the metadata of a group that does not exist.
NO_GROUP = b"\0\2\0\4none"
RATE, KEPT = {"leader.replication.throttled.rate": "1000"}, {"retention.ms": "86400000"}
PAYMENTS = TopicPartition("payments", 0)
#: {what a run asks or changes: (the rights it needs besides those of a diagnosis, the call)}.
REQUESTS = {
    "elect": ((ALTER,), lambda run: run.changer.elect(PAYMENTS, unclean=False)),
    "elect unclean": ((ALTER,), lambda run: run.changer.elect(PAYMENTS, unclean=True)),
    "reassign": ((ALTER,), lambda run: run.changer.reassign(PAYMENTS, (7,))),
    "cancel": ((ALTER,), lambda run: run.changer.reassign(PAYMENTS, None)),
    "broker config": ((OF_BROKERS,), lambda run: run.changer.alter_configs(ResourceKind.BROKER, "7", RATE)),
    "topic config": ((OF_TOPICS,), lambda run: run.changer.alter_configs(ResourceKind.TOPIC, "payments", KEPT)),
    "commit": (
        (READ_GROUPS, READ_TOPICS),
        lambda run: run.changer.commit_offsets("pay", {PAYMENTS: StoredOffset(1)}),
    ),
    "delete offset": ((DELETE_GROUPS, READ_TOPICS), lambda run: run.changer.commit_offsets("pay", {PAYMENTS: None})),
    "evict": ((READ_GROUPS,), lambda run: run.changer.evict_member("pay", "nobody", "")),
    "delete key": ((WRITE_TOPICS,), lambda run: run.changer.delete_key(TopicPartition(OFFSETS_TOPIC, 0), NO_GROUP)),
    "abort": ((WRITE,), lambda run: run.changer.abort_transaction("done", 1, 0, 60_000)),
    "open batch": ((READ_TOPICS,), lambda run: run.reader.open_batch(PAYMENTS)),
    "transaction": ((READ_TOPICS,), lambda run: run.reader.transaction("hung", 0)),
    "last generation": ((READ_TOPICS,), lambda run: run.reader.last_generation("pay")),
}


def start(given):
    (version, mode), (security, mechanism) = given
    spec = LabSpec(name="rights", kafka=version, mode=mode, ids=(7,), security=security, mechanism=mechanism, acls=True)
    lab = Lab.up(spec)
    with lab.access() as access:
        access.create_topic("payments", [[7]], {})
        access.produce("payments", {0: [("k", b"v")]})
        access.join_and_leave("pay", "payments")
    return lab


own, lab = lab_of_its_own(start, params=LABS, ids=lambda each: "-".join(filter(None, (*each[0], *each[1]))))


class Diagnosed(Kfix):
    """Diagnoses with the client properties of the lab."""

    def diagnose(self, *options):
        return self.run("diagnose", "--json", "--debounce", "1", "--command-config", self.lab.client_files[0], *options)


@pytest.fixture
def kfix(lab, tmp_path):
    return Diagnosed(lab, tmp_path / "state")


def denials(lab):
    logs = sorted((lab.store.dir / "logs").glob("*.log"))
    return [line for log in logs for line in log.read_text(errors="replace").splitlines() if DENIED.search(line)]


def test_the_least_rights_are_enough_and_nothing_is_denied(lab, kfix):
    before = len(denials(lab))
    said = kfix.diagnose()
    assert (said.code, said.json["could_not_read"]) == (0, []), said.out
    assert denials(lab)[before:] == []


def test_a_change_without_its_right_is_refused_by_name_and_changes_nothing(lab, tmp_path):
    principal, right = lab.state.spec.principal, Right("ALTER_CONFIGS", "CLUSTER", CLUSTER)
    ann = Operator(lab, tmp_path, "ann")
    ann.where = ("--command-config", lab.client_files[0])
    with lab.access() as access:
        access.write_config("brokers", "7", {"leader.replication.throttled.rate": "1000"})
        said = ann.apply(ann.plan("sweep-throttles"), code=3)
        text = " ".join((said.out + said.err).split())
        command = f"kafka-acls.sh --add --allow-principal '{principal}' --operation AlterConfigs --cluster"
        assert command in text, text
        assert access.configs("brokers")["7"] == {"leader.replication.throttled.rate": "1000"}
        grant(access.admin(), principal, [right])
        bob = Operator(lab, tmp_path, "bob")
        bob.where = ann.where
        wait_until(lambda: bob.apply(bob.plan("sweep-throttles")).code == 0, "the right is there", 10)
        revoke(access.admin(), principal, [right])


@pytest.mark.parametrize("right", READING, ids=str)
def test_a_right_that_is_missing_is_named_with_the_command_that_grants_it(lab, kfix, right):
    if (lab.state.spec.recipe.mode, right) in NOT_NEEDED:
        return
    principal = lab.state.spec.principal
    with lab.access() as access:
        admin = access.admin()
        revoke(admin, principal, [right])
        try:
            texts = kfix.until(lambda said: said.code == 22, "the right is gone").json["could_not_read"]
        finally:
            grant(admin, principal, [right])
    command = granting(principal, right)
    assert any(command in text for text in texts), texts
    kfix.until(lambda said: said.code == 0, "the right is back")
    # Without a right the log has denials: that it is quiet with all of them shows something.
    assert [line for line in denials(lab) if "kfix" in line]


def test_a_registration_that_may_have_hidden_replicas_is_no_ghost(lab):
    if lab.state.spec.recipe.mode != "kraft":
        return  # ZooKeeper forgets a broker with its session
    principal, right = lab.state.spec.principal, Right("DESCRIBE", "TOPIC")
    assert right in READING
    with lab.access() as access, open_cluster(make_target(None, None, Path(lab.client_files[0]))) as run:
        assert run.reader.registration(7).hidden == ""
        revoke(access.admin(), principal, [right])
        try:
            wait_until(lambda: "TOPIC_AUTHORIZATION_FAILED for" in run.reader.registration(7).hidden, "hidden", 10)
        finally:
            grant(access.admin(), principal, [right])
        wait_until(lambda: run.reader.registration(7).hidden == "", "the right is back", 10)


def answered(run, call):
    """The result of a change, or the error of a reading, as one text."""
    try:
        found = call(run)
    except UnreachableError as error:
        return str(error)
    return f"{getattr(found, 'name', '')} {getattr(found, 'message', '')}"


def granting(principal, right):
    operation = WORDS[right.operation]
    return f"kafka-acls.sh --add --allow-principal '{principal}' --operation {operation} {OPTIONS[right.resource]}"


def test_each_right_of_a_run_that_is_taken_away_is_named_and_nothing_is_changed(lab):
    every = tuple(dict.fromkeys(right for rights, _ in REQUESTS.values() for right in rights))
    assert set(every) == {right for rights in OF_ACTIONS.values() for right in rights}
    principal = lab.state.spec.principal
    target = make_target(None, None, Path(lab.client_files[0]))
    with lab.access() as access:
        admin = access.admin()
        access.transact("done", "payments")
        access.hang_transaction("hung", PAYMENTS)
        grant(admin, principal, every)
        try:
            with open_cluster(target) as run:
                for what, (rights, call) in REQUESTS.items():
                    for right in rights:
                        refused(access, principal, run, what, right, call)
                for what, (_, call) in REQUESTS.items():
                    wait_until(lambda call=call: "AUTHORIZATION" not in answered(run, call), f"{what} is allowed", 10)
        finally:
            revoke(admin, principal, every)
            access.take_over("hung")
            access.write_config("brokers", "7", {})


def refused(access, principal, run, what, right, call):
    def recorded():
        return access.configs("brokers"), access.configs("topics"), run.reader.group("pay", (PAYMENTS,)).committed

    admin = access.admin()
    revoke(admin, principal, [right])
    try:
        expected = granting(principal, right)
        wait_until(lambda: expected in answered(run, call), f"{what} without {right}: {answered(run, call)}", 10)
        before = recorded()
        assert expected in answered(run, call), what
        assert recorded() == before, what
    finally:
        grant(admin, principal, [right])


def test_a_large_offsets_log_that_may_not_be_read_is_unknown_where_latent_risks_are_asked_for(lab, kfix):
    asked, principal = ("--prevention", "--only", "KFX115"), lab.state.spec.principal
    with lab.access() as access:
        # What `kfix lab break offsets-uncompacted` does, which needs three brokers.
        where = TopicPartition(OFFSETS_TOPIC, partition_of_group("pay", len(access.assignment(OFFSETS_TOPIC))))
        access.write_config("topics", OFFSETS_TOPIC, {"segment.bytes": str(1 << 20)})
        access.write_commits(where, "pay", {PAYMENTS: 1}, 80_000, 2)
        before = len(denials(lab))
        said = kfix.until(of_compaction, "the log is large", *asked, within=_QUIET_SECONDS)
        assert (said.code, list(said.findings)) == (22, []), said.out
        [text] = of_compaction(said)
        assert text.startswith(f"compaction on broker 7: {where}: TOPIC_AUTHORIZATION_FAILED (missing right: Read ")
        assert granting(principal, READ_TOPICS) in text
        assert len(denials(lab)) > before
        assert of_compaction(kfix.diagnose()) == [], "only latent risks need it"
        grant(access.admin(), principal, [READ_TOPICS])
        try:
            said = kfix.until(lambda said: said.code == 20, "the log is read", *asked, within=_QUIET_SECONDS)
            assert list(said.findings) == ["KFX115"]
        finally:
            revoke(access.admin(), principal, [READ_TOPICS])


def of_compaction(said):
    """Other tests of this lab leave a doubt in the offsets topic, whose log may not be read either."""
    return [text for text in said.json["could_not_read"] if text.startswith("compaction ")]
