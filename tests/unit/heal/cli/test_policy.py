"""A site's policy, and a second person's signature, on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kfix.core.private import user_name
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.shell.console import changes, kfix, one_line, plan_file, wire

STUCK = "coordinator-stuck"


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeWiring:
    return wire("coordinator-stuck", monkeypatch, tmp_path)


# -- a site's policy

POLICY = "apiVersion: kfix/v1\nkind: Policy\ngates: {reassign.noop: two_person}\nlimits: {max_partitions: 5}\n"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def test_a_plan_is_made_with_the_policy_wherever_it_comes_from(
    wired: FakeWiring, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, named = plan_file(tmp_path, STUCK, "--policy", str(policy), name="1.json")
    monkeypatch.setenv("KFIX_POLICY", str(policy))
    _, of_env = plan_file(tmp_path, STUCK, name="2.json")
    monkeypatch.delenv("KFIX_POLICY")
    usual = tmp_path / "state" / "config" / "kfix"
    usual.mkdir(parents=True)
    (usual / "policy.yaml").write_text(POLICY)
    _, of_home = plan_file(tmp_path, STUCK, name="3.json")
    for plan in (named, of_env, of_home):
        assert plan["steps"][0]["gate"] == "two_person"
        assert plan["caps"]["max_partitions"] == 5


def test_an_older_plan_is_refused_by_name_under_the_policy_of_today(
    wired: FakeWiring, tmp_path: Path, policy: Path
) -> None:
    path, plan = plan_file(tmp_path, STUCK)
    approval = f"step:{plan['plan_id'][:8]}"
    result = kfix("apply", "--plan", str(path), "--approve", approval, "--policy", str(policy))
    assert result.exit_code == 3
    assert "step nudge: gate plan; the policy requires two_person for reassign.noop" in one_line(result.output)
    assert changes(wired) == []
    # A run that was declined is no way round it.
    kfix("apply", "--plan", str(path))
    run = json.loads(kfix("history", "--json").stdout)["id"]
    assert kfix("resume", run, "--approve", approval, "--policy", str(policy)).exit_code == 3
    assert changes(wired) == []


def test_a_policy_with_mistakes_stops_everything(wired: FakeWiring, policy: Path) -> None:
    policy.write_text("kind: Policy\ngates: {leader.elect_unclean: step}\n")
    result = kfix("plan", STUCK, "--policy", str(policy))
    assert result.exit_code == 2
    assert f"{policy}:2:31: gate 'step' is below the floor 'typed'" in result.output
    assert f"{policy}:1:1: the policy lacks 'apiVersion'" in result.output


def test_a_usual_policy_that_leads_nowhere_is_an_error_not_no_policy(wired: FakeWiring, tmp_path: Path) -> None:
    usual = tmp_path / "state" / "config" / "kfix"
    usual.mkdir(parents=True)
    (usual / "policy.yaml").symlink_to(tmp_path / "gone")
    assert "there is no such policy" in kfix("plan", STUCK).output


# -- two persons


def _be(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another user plans; what applies is this process."""
    from kfix.heal.execution import run

    really = run.whoami
    monkeypatch.setattr(run, "whoami", lambda: {**really(), "user": name})


def test_a_plan_for_two_persons_needs_a_signature_the_phrase_and_another_user(
    wired: FakeWiring, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _be(monkeypatch, "planner")
    path, plan = plan_file(tmp_path, STUCK, "--policy", str(policy))
    step = plan["steps"][0]
    flags = ["--plan", str(path), "--policy", str(policy), "--ack", f"{step['id']}={step['phrase']}"]
    alone = kfix("apply", *flags)
    assert alone.exit_code == 4
    assert "a second person has not signed this plan" in one_line(alone.output)
    signed = tmp_path / "signed.json"
    told = kfix("countersign", str(path), "--output-file", str(signed), "--reason", "I looked at it", "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["plan_id"] == plan["plan_id"]
    mine = kfix("apply", *flags, "--countersign", str(signed))
    assert mine.exit_code == 4
    assert "a second person must sign" in one_line(mine.output)
    assert changes(wired) == []
    me = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: me + 1)
    result = kfix("apply", *flags, "--countersign", str(signed))
    assert result.exit_code == 0, result.output
    assert changes(wired) == ["reassign"]
    journals = [path.read_text().splitlines() for path in tmp_path.rglob("journal.ndjson")]
    records = [json.loads(line) for lines in journals for line in lines]
    [answer] = [r["answer"] for r in records if r.get("passed")]
    assert answer == f"flag --ack, countersigned by {user_name(me)}"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["countersign", "PLAN"], "Missing option"),
        (["countersign", "PLAN", "--output-file", "OUT", "--reason", " "], "--reason needs a reason"),
        (["countersign", "PLAN", "--output-file", "OUT", "--reason", "\udcff"], "is not UTF-8 text"),
        (["countersign", "/nowhere.json", "--output-file", "OUT", "--reason", "x"], "no such plan file"),
        (["countersign", "/", "--output-file", "OUT", "--reason", "x"], "cannot read the plan"),
    ],
)
def test_signing_wrongly_is_one_clear_line(wired: FakeWiring, tmp_path: Path, args: list[str], says: str) -> None:
    path, _ = plan_file(tmp_path, STUCK)
    words = {"PLAN": str(path), "OUT": str(tmp_path / "s.json")}
    result = kfix(*(words.get(word, word) for word in args))
    assert result.exit_code == 2, result.output
    assert says in one_line(result.output)
    assert not (tmp_path / "s.json").exists()


def test_ones_own_plan_is_not_signed(wired: FakeWiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = plan_file(tmp_path, STUCK)
    result = kfix("countersign", str(path), "--output-file", str(tmp_path / "s.json"), "--reason", "x")
    assert result.exit_code == 3
    assert "a second person must sign it" in one_line(result.output)
