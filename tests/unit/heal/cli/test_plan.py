"""`kfix runbook plan`: requests, moves brought along and taken away, differences, the options of the look."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfix.core.diagnosis.finding import Cause, Confidence, Finding, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import DiagnosisTimes
from tests.each import for_each
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.shell.console import changes, kfix, one_line, plan_file, wire


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeWiring:
    """orders has 6 partitions of 2 replicas on 3 brokers, and nothing is wrong."""
    return wire("weak-topic", monkeypatch, tmp_path)


def _moves(tmp: Path, *entries: tuple[int, list[int]], topic: str = "orders") -> str:
    partitions = [{"topic": topic, "partition": p, "replicas": replicas} for p, replicas in entries]
    path = tmp / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


# -- requests


def test_what_a_person_asks_for_needs_no_finding(weak: FakeWiring, tmp_path: Path) -> None:
    _, plan = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    assert (plan["finding"]["code"], plan["finding"]["obj"]) == ("REQUEST", "orders")
    assert plan["finding"]["partitions"] == [f"orders-{p}" for p in range(6)]
    assert plan["finding"]["cause"] == "an operator's request (certain)"
    assert plan["finding"]["summary"].startswith("requested by ")
    assert plan["params"]["topic"] == "orders"
    assert changes(weak) == []


def test_critical_findings_are_shown_before_a_request_is_planned(weak: FakeWiring) -> None:
    sick = Finding("x-1", "x-1 has no leader", Cause("unknown"), Severity.CRITICAL, "KFX101")
    weak.findings = tuple(replace(sick, obj=f"x-{n}") for n in range(7))
    result = kfix("plan", "raise-topic-rf", "-p", "topic=orders")
    assert result.exit_code == 0
    assert "warning: KFX101:x-0: x-1 has no leader" in result.output
    assert "warning: and 2 more critical findings: kfix diagnose" in result.output
    assert result.output.index("warning: KFX101") < result.output.index("PLAN ")


def test_what_could_not_be_read_is_shown_before_a_request(weak: FakeWiring) -> None:
    weak.could_not_read = ("broker 3",)
    assert "warning: could not read broker 3" in kfix("plan", "raise-topic-rf", "-p", "topic=orders").output


@for_each(
    ("args", "says"),
    [
        (["raise-topic-rf"], "needs the parameter 'topic'"),
        (
            ["raise-topic-rf", "-p", "topic=order"],
            "there is no topic 'order' on memory-cluster, did you mean 'orders'?",
        ),
        (["raise-topic-rf", "-p", "topic=a/b"], "'a/b' is not of the kind topic"),
        (["cancel-reassignment"], "to run it without one, name the topic"),
        (["move-replicas"], "carries out the moves of a file: name it"),
        (["raise-topic-rf", "-p", "topic=orders", "--json-in", "x.json"], "computes its own moves"),
        (["move-replicas", "--json-in", "/nowhere/x.json"], "cannot read the moves"),
        (["move-replicas", "--json-in", "/"], "cannot read the moves"),
        (
            ["raise-topic-rf", "-p", "topic=orders", "--debounce", "nan"],
            "--debounce and --transaction-grace must be 0 to",
        ),
        (
            ["raise-topic-rf", "-p", "topic=orders", "--debounce", "-1"],
            "--debounce and --transaction-grace must be 0 to",
        ),
        (
            ["raise-topic-rf", "-p", "topic=orders", "--transaction-grace", "-1"],
            "--debounce and --transaction-grace must be 0 to",
        ),
        (["raise-topic-rf", "-p", "topic=\udcff"], "is not UTF-8 text"),
        (["raise-topic-rf", "-p", "topic=orders", "--diff", "/nowhere/p.json"], "no such plan file"),
        (["raise-topic-rf", "-p", "topic=orders", "--policy", "/nowhere/p.yaml"], "there is no such policy"),
        (["raise-topic-rf", "-p", "topic=orders", "--output-file", "/nowhere/p.json"], "cannot write"),
        (["raise-topic-rf", "-p", "topic=orders", "--json-out", "/nowhere/p.json"], "cannot write"),
        (["raise-topic-rf", "-p", "topic=orders", "--output-file", "/new", "--json-out", "/new"], "name two files"),
    ],
)
def test_a_wrong_wish_is_one_clear_line(weak: FakeWiring, args: list[str], says: str) -> None:
    result = kfix("plan", *args)
    assert result.exit_code == 2, result.output
    assert says in one_line(result.output)
    assert "Traceback" not in result.output
    assert changes(weak) == []


def test_a_finding_goes_before_a_request_and_names_the_topic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wire("offsets-rf1-all-alive", monkeypatch, tmp_path)
    _, plan = plan_file(tmp_path, "raise-offsets-rf")
    assert plan["finding"]["code"] == "KFX303"
    assert plan["params"]["topic"] == "__consumer_offsets"


def test_a_topic_that_was_named_leaves_the_findings_of_others_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = wire("replicas-in-one-rack", monkeypatch, tmp_path)
    other = Finding(
        "other",
        "packed",
        Cause("unknown", Confidence.UNKNOWN),
        code="KFX305",
        partitions=(TopicPartition("other", 0),),
    )
    fake.findings = (other,)
    _, plan = plan_file(tmp_path, "spread-replicas", "-p", "topic=orders")
    assert plan["finding"]["code"] == "REQUEST"


# -- moves of a file


def test_moves_of_a_file_are_judged_planned_and_carried_out(weak: FakeWiring, tmp_path: Path) -> None:
    path, plan = plan_file(tmp_path, "move-replicas", "--json-in", _moves(tmp_path, (0, [1, 2, 3]), (1, [2, 3, 1])))
    moves = {s["args"]["partition"]: s["args"]["replicas"] for s in plan["steps"] if s["action"] == "reassign.move"}
    assert moves == {"orders-0": [1, 2, 3], "orders-1": [2, 3, 1]}
    result = kfix("apply", "--plan", str(path), "--approve", f"step:{plan['plan_id'][:8]}")
    assert result.exit_code == 0, result.output
    assert weak.cluster.records.assignments[TopicPartition("orders", 1)].replicas == (2, 3, 1)


def test_moves_that_must_not_be_sent_are_refused_all_at_once(weak: FakeWiring, tmp_path: Path) -> None:
    result = kfix("plan", "move-replicas", "--json-in", _moves(tmp_path, (0, [1, 9]), (1, [2, 2]), (77, [1, 2])))
    assert result.exit_code == 3
    said = one_line(result.output)
    assert "orders-0: broker 9 cannot take a replica" in said
    assert "orders-1: [2, 2] names broker 2 more than once" in said
    assert "orders-77: the cluster has no such partition" in said
    assert changes(weak) == []


def test_moves_that_are_unwise_are_reported_and_planned(weak: FakeWiring, tmp_path: Path) -> None:
    result = kfix("plan", "move-replicas", "--json-in", _moves(tmp_path, (0, [3])))
    assert "warning:" in result.output
    assert "2 replicas become 1" in one_line(result.output)


def test_a_file_that_is_no_reassignment_is_reported_with_its_place(weak: FakeWiring, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"version":1,\n"partitions":[}')
    result = kfix("plan", "move-replicas", "--json-in", str(path))
    assert result.exit_code == 2
    assert f"{path}:2:15" in result.output
    path.write_text('{"version":1,"partitions":[]}')
    assert "it contains no move" in kfix("plan", "move-replicas", "--json-in", str(path)).output


def test_moves_of_a_plan_can_be_taken_elsewhere_and_brought_back(weak: FakeWiring, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = kfix("plan", "raise-topic-rf", "-p", "topic=orders", "--json-out", str(out))
    assert "6 moves written" in result.output
    assert {len(p["replicas"]) for p in json.loads(out.read_text())["partitions"]} == {3}
    _, plan = plan_file(tmp_path, "move-replicas", "--json-in", str(out))
    assert sum(s["action"] == "reassign.move" for s in plan["steps"]) == 6
    again = kfix("plan", "raise-topic-rf", "-p", "topic=orders", "--json-out", str(out))
    assert again.exit_code == 2
    assert "is not overwritten" in again.output


def test_a_plan_without_moves_writes_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wire("coordinator-stuck", monkeypatch, tmp_path)
    result = kfix("plan", "coordinator-stuck", "--json-out", str(tmp_path / "m.json"))
    assert result.exit_code == 2
    assert "moves no replica" in result.output
    assert not (tmp_path / "m.json").exists()


# -- differences


def _diff(tmp: Path, *args: str) -> list[dict[str, Any]]:
    result = kfix("plan", *args, "--diff", str(tmp / "plan.json"), "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_nothing_differs_from_a_plan_just_made(weak: FakeWiring, tmp_path: Path) -> None:
    plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    assert _diff(tmp_path, "raise-topic-rf", "-p", "topic=orders") == []
    told = kfix("plan", "raise-topic-rf", "-p", "topic=orders", "--diff", str(tmp_path / "plan.json"))
    assert "no differences" in told.output


def test_what_differs_is_shown_as_it_was_and_as_it_is(weak: FakeWiring, tmp_path: Path) -> None:
    plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    rows = {row["what"]: row for row in _diff(tmp_path, "raise-topic-rf", "-p", "topic=orders", "-p", "throttle=1MB/s")}
    assert rows["params.throttle"] == {"what": "params.throttle", "was": "50000000", "is": "1000000"}
    assert rows["step grow:orders-0: rate"]["is"] == "1000000"
    assert "expires_at" not in rows


def test_a_fact_that_moved_differs_and_a_spent_plan_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = wire("coordinator-stuck", monkeypatch, tmp_path)
    path, plan = plan_file(tmp_path, "coordinator-stuck")
    fake.cluster.brokers[1].alive = True
    rows = {row["what"]: row for row in _diff(tmp_path, "coordinator-stuck")}
    assert rows["fact __consumer_offsets-26.live_replicas"]["was"] == "[3,2]"
    fake.cluster.brokers[1].alive = False
    kfix("apply", "--plan", str(path), "--approve", f"plan:{plan['plan_id'][:8]}")
    assert "it was already run as" in kfix("show", str(path)).output


def test_plans_of_different_remedies_are_not_compared(weak: FakeWiring, tmp_path: Path) -> None:
    plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    result = kfix(
        "plan", "durable-defaults", "-p", "topic=orders", "-p", "min_isr=1", "--diff", str(tmp_path / "plan.json")
    )
    assert result.exit_code == 2
    assert "they cannot be compared" in one_line(result.output)


# -- the look


def test_the_wait_for_a_second_snapshot_can_be_chosen(weak: FakeWiring) -> None:
    kfix("plan", "raise-topic-rf", "-p", "topic=orders", "--debounce", "2.5")
    kfix("plan", "raise-topic-rf", "-p", "topic=orders")
    assert [look.debounce for look in weak.looks] == [2.5, 10.0]


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_the_grace_of_transactions_reaches_the_diagnosis_that_the_plan_rests_on(weak: FakeWiring, command: str) -> None:
    asked = (command, "abort-transaction", "-p", "group=g2")
    kfix(*asked, "--transaction-grace", "0")
    kfix(*asked)
    assert [look.transaction_grace for look in weak.looks] == [0, 60]
    assert {look.groups for look in weak.looks} == {("g2",)}


def test_a_plan_is_applied_with_the_times_that_its_diagnosis_had(weak: FakeWiring, tmp_path: Path) -> None:
    asked = ("raise-topic-rf", "-p", "topic=orders")
    path, plan = plan_file(tmp_path, *asked, "--transaction-grace", "7.5", "--debounce", "0")
    assert plan["judged"] == {"debounce": 0, "restart_grace": 120, "transaction_grace": 7.5}
    assert "judged with  --debounce 0 --transaction-grace 7.5" in kfix("show", str(path)).output
    kfix("apply", "--plan", str(path), "--approve", f"plan:{plan['plan_id'][:8]}")
    assert weak.judged[0] == DiagnosisTimes(debounce=0, transaction_grace=7.5)
    changed = {row["what"]: row["is"] for row in _diff(tmp_path, *asked)}
    assert changed["judged.transaction_grace"] == "60.0"


@pytest.mark.parametrize("option", [("--transaction-grace", "60"), ("--debounce", "0")])
def test_the_times_of_a_plan_are_not_given_again(weak: FakeWiring, tmp_path: Path, option: tuple[str, str]) -> None:
    path, _ = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    result = kfix("apply", "--plan", str(path), *option)
    assert result.exit_code == 2
    assert "the plan contains them" in one_line(result.output)
    assert not weak.judged


def test_an_approval_without_a_plan_names_the_command_with_the_same_times(weak: FakeWiring) -> None:
    result = kfix("apply", "abort-transaction", "--transaction-grace", "0", "--approve", "plan:12345678")
    assert result.exit_code == 2
    assert "--transaction-grace 0 --output-file plan.json" in one_line(result.output)


def test_nothing_of_the_clients_settings_is_written_down(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Passwords of --command-config go to the connection and to nothing else."""
    fake = wire("coordinator-stuck", monkeypatch, tmp_path)
    settings = tmp_path / "client.properties"
    settings.write_text("sasl.jaas.config=... password=hush-hush-4711\n")
    result = kfix(
        "plan", "coordinator-stuck", "--command-config", str(settings), "--output-file", str(tmp_path / "p.json")
    )
    plan_id = json.loads((tmp_path / "p.json").read_text())["plan_id"][:8]
    applied = kfix(
        "apply", "--plan", str(tmp_path / "p.json"), "--command-config", str(settings), "--approve", f"plan:{plan_id}"
    )
    assert applied.exit_code == 0
    assert fake.targets[0].command_config == settings
    written = [p.read_text() for p in tmp_path.rglob("*") if p.is_file() and p != settings]
    assert not any("hush-hush" in text for text in (*written, result.output, applied.output))
