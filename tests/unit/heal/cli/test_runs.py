"""What becomes of a run that was begun: resume, abort, rollback, throttle, and what is told of all that."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.plan import Gate
from tests.each import for_each
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.heal.stage import Answers
from tests.unit.shell import console
from tests.unit.shell.console import changes, journal, kfix, last_run, one_line, plan_file, wire

ORDERS = TopicPartition("orders", 0)
STUCK = TopicPartition("__consumer_offsets", 26)


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeWiring:
    return wire("weak-topic", monkeypatch, tmp_path)


@pytest.fixture
def lax(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeWiring:
    return wire("weak-topic-rf3", monkeypatch, tmp_path)


def _stop(weak: FakeWiring, tmp_path: Path) -> Path:
    """A run that ends half-way: Ctrl-C when the canary is about to move, and the throttles are set."""
    path, plan = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")

    def interrupt() -> None:
        raise KeyboardInterrupt

    weak.cluster.faults.before("reassign", interrupt)
    result = kfix("apply", "--plan", str(path), "--approve", f"step:{plan['plan_id'][:8]}")
    assert result.exit_code == 6, result.output
    return last_run(tmp_path)


def _without_end(run: Path, *, dead: bool = False) -> None:
    """Makes it a run that goes on in this process, or whose process is dead."""
    data = b"".join((run / "journal.ndjson").read_bytes().splitlines(keepends=True)[:-1])
    with subprocess.Popen(["true"]) as child:
        child.wait()
    pid = child.pid if dead else os.getpid()
    (run / "journal.ndjson").write_bytes(data.replace(f'"pid":{os.getpid()}'.encode(), f'"pid":{pid}'.encode()))


def test_a_run_that_was_declined_half_way_is_resumed_and_proved(weak: FakeWiring, tmp_path: Path) -> None:
    run = _stop(weak, tmp_path)
    short = run.name[-8:]
    result = kfix("resume", run.name, "--approve", f"step:{short}")
    assert result.exit_code == 0, result.output
    assert "resumed; " in result.output
    assert "PROVED" in result.output
    assert weak.cluster.records.assignments[ORDERS].replicas[2:] != ()
    again = kfix("resume", run.name, "--approve", f"step:{short}")
    assert again.exit_code == 3
    assert "there is nothing to resume" in again.output


def test_a_resumed_run_as_json_is_its_records(weak: FakeWiring, tmp_path: Path) -> None:
    run = _stop(weak, tmp_path)
    result = kfix("resume", run.name, "--approve", f"step:{run.name[-8:]}", "--json")
    types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert (types[0], types[-1]) == ("run.resumed", "run.end")
    assert "PROVED" in result.stderr


def test_what_was_done_by_hand_is_believed_when_it_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = wire("coordinator-stuck", monkeypatch, tmp_path)
    path, plan = plan_file(tmp_path, "coordinator-stuck")
    assert kfix("apply", "--plan", str(path)).exit_code == 4
    run = last_run(tmp_path)
    refused = kfix("resume", run.name, "--did", "nudge")
    assert refused.exit_code == 3
    assert "--did nudge: partition_has_leader" in one_line(refused.output)
    fake.cluster.reassign(STUCK, (3, 1, 2))
    fake.cluster.advance(5)
    result = kfix("resume", run.name, "--did", "nudge", "--approve", f"plan:{plan['plan_id'][:8]}")
    assert result.exit_code == 0, result.output
    assert "nudge: done by hand and verified" in result.output


def test_an_aborted_run_removes_what_it_left_on_and_shows_what_stays(weak: FakeWiring, tmp_path: Path) -> None:
    run = _stop(weak, tmp_path)
    result = kfix("abort", run.name, "--reason", "the change window is over")
    assert result.exit_code == 0, result.output
    told = one_line(result.output).partition(f"{run.name}: aborted")[2]
    assert "restored: remove the replication throttles of topic orders" in told
    assert "changes that remain: none" in told
    assert "rollback" not in told
    assert journal(run)[-1]["outcome"] == "aborted"
    assert any("the change window is over" in r.get("text", "") for r in journal(run))
    assert kfix("abort", run.name, "--reason", "x").exit_code == 3


def test_a_run_is_taken_back_by_a_plan_of_its_own(lax: FakeWiring, tmp_path: Path) -> None:
    path, plan = plan_file(tmp_path, "durable-defaults", "-p", "topic=orders")
    assert kfix("apply", "--plan", str(path), "--approve", f"step:{plan['plan_id'][:8]}").exit_code == 0
    run = last_run(tmp_path)
    undo = tmp_path / "undo.json"
    made = kfix("rollback", run.name, "--output-file", str(undo))
    assert made.exit_code == 0, made.output
    assert f"Roll back run {run.name}" in made.output
    written = json.loads(undo.read_text())
    assert written["undoes"] == run.name
    told = kfix("show", str(undo))
    assert f"note: it rolls back run {run.name}" in told.output
    typed = [s for s in written["steps"] if s["gate"] == "typed"]
    acks = [word for s in typed for word in ("--ack", f"{s['id']}={s['phrase']}")]
    result = kfix("apply", "--plan", str(undo), "--approve", f"step:{written['plan_id'][:8]}", *acks)
    assert result.exit_code == 0, result.output
    assert f"ROLLED BACK run {run.name}" in one_line(result.output)
    assert lax.cluster.records.topic_configs["orders"] == {"unclean.leader.election.enable": "true"}


def test_a_rollback_without_a_terminal_changes_nothing_and_shows_the_command(lax: FakeWiring, tmp_path: Path) -> None:
    path, plan = plan_file(tmp_path, "durable-defaults", "-p", "topic=orders")
    kfix("apply", "--plan", str(path), "--approve", f"step:{plan['plan_id'][:8]}")
    before = changes(lax)
    result = kfix("rollback", last_run(tmp_path).name)
    assert result.exit_code == 4
    assert "kfix runbook apply --plan" in one_line(result.output)
    assert changes(lax) == before


def test_a_policy_raises_the_gates_of_a_rollback_too(lax: FakeWiring, tmp_path: Path) -> None:
    path, plan = plan_file(tmp_path, "durable-defaults", "-p", "topic=orders")
    kfix("apply", "--plan", str(path), "--approve", f"step:{plan['plan_id'][:8]}")
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: kfix/v1\nkind: Policy\ngates: {config.set: two_person}\n")
    undo = tmp_path / "undo.json"
    kfix("rollback", last_run(tmp_path).name, "--policy", str(policy), "--output-file", str(undo))
    assert {s["gate"] for s in json.loads(undo.read_text())["steps"]} == {Gate.TWO_PERSON.word}


def test_another_throttle_is_left_for_a_run_that_goes_on(weak: FakeWiring, tmp_path: Path) -> None:
    run = _stop(weak, tmp_path)
    ended = kfix("throttle", run.name, "5MB/s")
    assert ended.exit_code == 3
    assert "has ended (interrupted)" in ended.output
    _without_end(run)
    result = kfix("throttle", run.name, "5MB/s")
    assert result.exit_code == 0, result.output
    assert "5 MB/s requested; the run applies it within seconds" in one_line(result.output)
    assert json.loads((run / "throttle.request.json").read_text())["rate"] == 5_000_000
    assert json.loads(kfix("throttle", run.name, "1MB/s", "--json").stdout)["bytes_per_second"] == 1_000_000
    resumed = kfix("resume", run.name, "--approve", f"step:{run.name[-8:]}")
    assert resumed.exit_code == 0, resumed.output
    assert "throttle 1 MB/s, requested by" in resumed.output
    assert "throttle changed" in resumed.output


def test_a_throttle_for_a_run_whose_process_is_gone_is_refused(weak: FakeWiring, tmp_path: Path) -> None:
    run = _stop(weak, tmp_path)
    _without_end(run, dead=True)
    assert "the run's process has ended" in one_line(kfix("throttle", run.name, "5MB/s").output)


@for_each(
    ("args", "code", "says"),
    [
        (["throttle", "RUN", "fast"], 2, "'fast' is not a rate"),
        (["throttle", "RUN", "0MB/s"], 2, "moves nothing"),
        (["throttle", "nothing", "1MB/s"], 2, "there is no run 'nothing'"),
        (["abort", "RUN"], 2, "--reason"),
        (["abort", "RUN", "--reason", "  "], 2, "--reason needs a reason"),
        (["abort", "nothing", "--reason", "x"], 2, "there is no run 'nothing'"),
        (["resume", "nothing"], 2, "there is no run 'nothing'"),
        (["resume", "RUN", "--approve", "plan"], 2, "is not plan:<plan-id-8>"),
        (["resume", "RUN", "--approve", "plan:00000000"], 2, "names another plan"),
        (["resume", "RUN", "--ack", "nudge"], 2, "is not STEP=PHRASE of a typed step"),
        (["resume", "RUN", "--did", "nothing"], 3, "the plan has no such step"),
        (["resume", "RUN", "--countersign", "/nowhere"], 2, "no such signature file"),
        (["rollback", "nothing"], 2, "there is no run 'nothing'"),
        (
            ["rollback", "RUN", "--output-file", "/nowhere/x"],
            3,
            "whether the change was made is unknown: check orders-0",
        ),
        (["resume", "../../etc"], 2, "there is no run"),
        (["resume", ""], 2, "there is no run"),
        (["verify", "RUN", "--finding", "x"], 2, "No such option"),
        (["apply", "raise-topic-rf", "--countersign", "x"], 2, "they require --plan FILE"),
    ],
)
def test_a_wrong_command_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, args: list[str], code: int, says: str
) -> None:
    weak = wire("weak-topic", monkeypatch, tmp_path)
    run = _stop(weak, tmp_path)
    if args[0] == "throttle":
        _without_end(run)
    before = changes(weak)
    result = kfix(*(run.name if word == "RUN" else word for word in args))
    assert result.exit_code == code, result.output
    assert says in one_line(result.output)
    assert "Traceback" not in result.output
    assert len(changes(weak)) <= len(before) + 12


def test_a_run_of_another_cluster_is_not_taken_back_here(weak: FakeWiring, tmp_path: Path) -> None:
    run = _stop(weak, tmp_path)
    other = wire_other(weak)
    for args in (["rollback", run.name], ["resume", run.name], ["abort", run.name, "--reason", "x"]):
        result = kfix(*args)
        assert result.exit_code == 3, result.output
        assert other in result.output


def wire_other(weak: FakeWiring) -> str:
    here = weak.cluster.identity()
    weak.cluster.identity = lambda: replace(here, id="elsewhere")  # type: ignore[method-assign]
    return "elsewhere"


def test_a_run_that_failed_and_cannot_be_rolled_back_completely_is_reported(lax: FakeWiring, tmp_path: Path) -> None:
    """on_failure rollback; to allow unclean elections again is typed, and nobody is there to type."""
    from kfix.core.snapshot.reading import ChangeResult

    site = tmp_path / "site"
    site.mkdir()
    shipped = Path("runbooks/durable-defaults.yaml")
    (site / shipped.name).write_text(shipped.read_text().replace("on_failure: stop", "on_failure: rollback"))
    path, plan = plan_file(tmp_path, "durable-defaults", "-p", "topic=orders", "--runbooks", str(site))
    done = lax.cluster.alter_configs
    calls = []

    def second_is_lost(*args: object) -> ChangeResult:
        calls.append(args)
        return ChangeResult(0, "NONE") if len(calls) == 2 else done(*args)  # type: ignore[arg-type]

    lax.cluster.alter_configs = second_is_lost  # type: ignore[method-assign, assignment]
    approval = f"step:{plan['plan_id'][:8]}"
    result = kfix("apply", "--plan", str(path), "--approve", approval, "--runbooks", str(site))
    assert result.exit_code == 8, result.output
    said = one_line(result.output)
    assert "step min-isr could not be verified" in said
    assert "the rollback did not complete" in said
    assert "these steps were not approved: undo-" in said


def test_step_by_step_asks_before_every_change(lax: FakeWiring, tmp_path: Path) -> None:
    path, plan = plan_file(tmp_path, "durable-defaults", "-p", "topic=orders")
    short = plan["plan_id"][:8]
    result = kfix("apply", "--plan", str(path), "--approve", f"plan:{short}", "--step")
    assert result.exit_code == 4
    assert f"--approve step:{short}" in one_line(result.output)
    assert changes(lax) == []


def test_a_run_that_does_not_lock_others_out_states_it(lax: FakeWiring, tmp_path: Path) -> None:
    from kfix.core.errors import UnreachableError

    def none_here(_holder: object) -> None:
        raise UnreachableError("there is no ZooKeeper to lock")

    lax.cluster.lock.take = none_here  # type: ignore[method-assign, assignment]
    path, plan = plan_file(tmp_path, "durable-defaults", "-p", "topic=orders")
    result = kfix("apply", "--plan", str(path), "--approve", f"step:{plan['plan_id'][:8]}")
    assert result.exit_code == 0, result.output
    assert "other hosts are not locked out (there is no ZooKeeper to lock)" in one_line(result.output)


def test_the_second_finding_is_planned_from_a_snapshot_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was changed for the first one is in it."""
    monkeypatch.setattr("kfix.heal.planning.matching.in_plans", lambda found, _runbook: found)
    fake = wire("coordinator-stuck", monkeypatch, tmp_path)
    first = fake.findings[0]
    fake.findings = (first, replace(first, code="KFX102"))
    human = Answers(["y"] * 9, reads=lambda: fake.cluster.clock.sleep(5.0))
    monkeypatch.setattr(console, "behind", fake.app(tmp_path / "state", fake.cluster.clock, human))
    result = kfix("apply", "coordinator-stuck")
    assert result.exit_code == 0, result.output
    assert "1 of 2 findings, one after the other" in result.output
    assert "KFX102:__consumer_offsets-26 is already healthy" in one_line(result.output)
    assert fake.snapshots == 1


CONTROLLERS = ("--bootstrap-server", "b:1", "--bootstrap-controller", "c1:1,c2:1")


@pytest.mark.parametrize(
    "words",
    [
        ("resume", "RUN", "--approve", "step:ID"),
        ("abort", "RUN", "--reason", "x"),
        ("rollback", "RUN"),
        ("verify", "RUN"),
    ],
    ids=lambda words: words[0],
)
def test_the_commands_of_a_run_reach_the_controllers_that_are_named(
    weak: FakeWiring, tmp_path: Path, words: tuple[str, ...]
) -> None:
    run = _stop(weak, tmp_path)
    weak.targets.clear()
    result = kfix(*(word.replace("RUN", run.name).replace("ID", run.name[-8:]) for word in words), *CONTROLLERS)
    assert result.exit_code != 2, result.output
    assert {(each.bootstrap_servers, each.controllers) for each in weak.targets} == {("b:1", "c1:1,c2:1")}


def test_a_plan_and_its_run_reach_the_controllers_that_are_named(weak: FakeWiring, tmp_path: Path) -> None:
    path, _ = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders", *CONTROLLERS)
    kfix("apply", "raise-topic-rf", "-p", "topic=orders", *CONTROLLERS)
    kfix("apply", "--plan", str(path), *CONTROLLERS)
    assert len(weak.targets) == 5
    assert {(each.bootstrap_servers, each.controllers) for each in weak.targets} == {("b:1", "c1:1,c2:1")}


@pytest.fixture
def named(weak: FakeWiring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeWiring:
    """The cluster is `shop` of the inventory."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("apiVersion: kfix/v1\nkind: Fleet\nclusters:\n  shop:\n    bootstrap: localhost:1\n")
    monkeypatch.setenv("KFIX_FLEET", str(fleet))
    return weak


def test_the_command_that_applies_a_requested_throttle_names_the_cluster_as_the_run_did(
    named: FakeWiring, tmp_path: Path
) -> None:
    path, plan = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders", "-c", "shop")

    def interrupt() -> None:
        raise KeyboardInterrupt

    named.cluster.faults.before("reassign", interrupt)
    kfix("apply", "--plan", str(path), "-c", "shop", "--approve", f"step:{plan['plan_id'][:8]}")
    run = last_run(tmp_path)
    _without_end(run, dead=True)
    said = one_line(kfix("throttle", run.name, "5MB/s").output)
    assert f"kfix runbook resume {run.name} -c shop will apply it" in said


def test_what_is_to_be_done_next_names_the_cluster_as_the_caller_did(named: FakeWiring, tmp_path: Path) -> None:
    path, plan = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders", "-c", "shop")
    done = kfix("apply", "--plan", str(path), "-c", "shop", "--approve", f"step:{plan['plan_id'][:8]}")
    run = last_run(tmp_path).name
    assert f"to verify again later: kfix runbook verify {run} -c shop" in one_line(done.output)
    again = kfix("resume", run, "-c", "shop")
    assert f"kfix runbook verify {run} -c shop" in one_line(again.output)
    refused = kfix("apply", "raise-topic-rf", "-p", "topic=orders", "-c", "shop", "--approve", "plan:00000000")
    said = one_line(refused.output)
    assert "kfix runbook plan raise-topic-rf -c shop --output-file plan.json" in said
    assert "kfix runbook apply --plan plan.json -c shop" in said
