"""One change by itself: what is on the disk before the call, what after it, and that it is never made twice."""

from __future__ import annotations

import io
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfix.core.args import Args
from kfix.core.clock_steps import wall
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL
from kfix.heal.execution import change, guards
from kfix.heal.execution.change import FRESH_SECONDS, LATE_SECONDS
from kfix.heal.journal.journal import Journal, JournalError
from kfix.heal.journal.replay import replay, surely_since
from kfix.heal.model.plan import CheckCall, PlannedStep
from kfix.heal.safety.outcomes import Outcome, Stop
from tests.unit.heal.execution.parts import opened
from tests.unit.heal.stage import Stage


class Bench:
    """The parts of one change, on the in-memory cluster of a stage."""

    def __init__(self, stage: Stage, file: Any) -> None:
        self.cluster, self.plan, self.file = stage.cluster, stage.plan(), file
        self.listened: list[str] = []
        clock = self.cluster.clock
        journal = Journal(self.file, {}, clock, lambda record: self.listened.append(str(record["type"])))
        self.run = opened(stage, self.plan, journal)

    @property
    def step(self) -> PlannedStep:
        """The first step that changes the cluster."""
        return next(step for step in self.plan.steps if step.action == "reassign.noop")

    def make(self, right_before: Callable[[], None] = lambda: None, step: PlannedStep | None = None) -> ChangeResult:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(guards, "right_before", lambda _run, _step: right_before())
            return change.make(self.run, step or self.step)

    def records(self) -> list[dict[str, Any]]:
        self.file.seek(0)
        return [json.loads(line) for line in self.file.read().splitlines()]

    def types(self) -> list[str]:
        return [record["type"] for record in self.records() if not record["type"].startswith("verify")]

    def calls(self) -> list[str]:
        return [call.method for call in self.cluster.faults.calls]


@pytest.fixture
def bench(stage: Stage, tmp_path: Path) -> Iterator[Bench]:
    with (tmp_path / "journal.ndjson").open("w+b") as file:
        yield Bench(stage, file)


def test_the_intent_is_on_the_disk_when_the_call_leaves(bench: Bench) -> None:
    seen: list[list[str]] = []
    bench.cluster.faults.before("reassign", lambda: seen.append(bench.types()))
    assert bench.make().accepted
    assert seen == [["step.intent"]]
    assert bench.types() == ["step.intent", "step.result", "facts.updated"]


def test_the_intent_holds_what_is_needed_to_take_the_change_back(bench: Bench) -> None:
    bench.make()
    intent = next(record for record in bench.records() if record["type"] == "step.intent")
    assert intent["step"] == bench.step.id
    assert intent["action"] == "reassign.noop"
    assert intent["pre_image"].keys() == set(bench.step.pre)
    assert "inverse" in intent


def test_a_guard_that_does_not_hold_stops_the_change_before_its_intent(bench: Bench) -> None:
    bench.cluster.faults.unreadable["partition"] = "no answer"
    bench.cluster.faults.unreadable["read_partition"] = "no answer"
    for name in ("registered", "reassignments", "controller"):
        bench.cluster.faults.unreadable[name] = "no answer"
    with pytest.raises(Stop) as stop:
        bench.make()
    assert stop.value.outcome is Outcome.REFUSED
    assert "step.intent" not in bench.types()
    assert bench.calls() == []
    assert not bench.run.progress.begun


def test_what_is_checked_right_before_the_call_can_still_stop_it(bench: Bench) -> None:
    def lock_lost() -> None:
        raise Stop(Outcome.REFUSED, "the lock was lost")

    with pytest.raises(Stop, match="the lock was lost"):
        bench.make(lock_lost)
    assert bench.calls() == []


def test_where_the_disk_took_its_time_everything_is_read_again(bench: Bench) -> None:
    asked: list[int] = []

    def slow_disk_then_lock_lost() -> None:
        asked.append(len(asked))
        if len(asked) == 1:
            bench.cluster.clock.sleep(FRESH_SECONDS + 0.5)
        else:
            raise Stop(Outcome.REFUSED, "the lock was lost meanwhile")

    with pytest.raises(Stop, match="meanwhile"):
        bench.make(slow_disk_then_lock_lost)
    assert bench.calls() == []
    result = bench.records()[-1]
    assert (result["type"], result["changed"], result["error"]) == ("step.result", False, "not issued")


def test_where_the_disk_took_its_time_the_guards_are_asked_again(bench: Bench) -> None:
    """No fact of the step has changed: only its guard sees that a broker has failed meanwhile."""
    enough = CheckCall("brokers_live_at_least", Args({"n": 2}))
    step = replace(bench.step, pre=(), require=(enough,))

    def slow_disk() -> None:
        bench.cluster.clock.sleep(FRESH_SECONDS + 0.5)
        for broker in bench.cluster.brokers.values():
            broker.alive = False

    with pytest.raises(Stop, match=r"needs brokers_live_at_least.*") as stop:
        bench.make(slow_disk, step)
    assert stop.value.outcome is Outcome.REFUSED
    assert bench.calls() == []
    assert bench.records()[-1]["error"] == "not issued"


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_answer_is_looked_up_and_the_call_is_not_made_again(bench: Bench, applied: bool) -> None:
    bench.cluster.faults.lose_answer("reassign", applied=applied)
    assert bench.make().unknown
    assert bench.calls() == ["reassign"]
    assert "step.probe" in bench.types()
    results = [record["changed"] for record in bench.records() if record["type"] == "step.result"]
    assert results == ([None, True] if applied else [None])
    assert bool([text for text in bench.run.progress.changed.values() if "may or may not" in text]) is not applied


def test_an_answer_that_may_come_after_the_change_counts_as_unknown(bench: Bench) -> None:
    bench.cluster.faults.answer("reassign", ChangeResult(7, "REQUEST_TIMED_OUT"))
    assert bench.make().unknown
    assert bench.calls() == ["reassign"]


def test_a_call_that_breaks_off_on_its_way_is_unknown_and_not_refused(bench: Bench) -> None:
    def breaks() -> None:
        raise UnreachableError("the connection was closed")

    bench.cluster.faults.before("reassign", breaks)
    assert bench.make().unknown
    assert [record["changed"] for record in bench.records() if record["type"] == "step.result"] == [None]


@pytest.mark.parametrize("status", ActionStatus)
def test_the_facts_after_a_change_are_caught_up_only_once_it_is_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, status: ActionStatus
) -> None:
    monkeypatch.setattr(type(ALL["reassign.noop"]), "probe", lambda *_: status)
    change.note(bench.run, bench.step, {})
    change.catch_up(bench.run)
    seen = status in {ActionStatus.DONE, ActionStatus.IN_PROGRESS}
    assert bench.types() == (["facts.updated"] if seen else [])
    assert (bench.step.id in bench.run.unmoved) is not seen


@pytest.mark.parametrize("code", [3, 31, 41, 60, 85])
def test_an_answer_that_nothing_was_changed_is_trusted(bench: Bench, code: int) -> None:
    bench.cluster.faults.answer("reassign", ChangeResult(code, "REFUSED"))
    result = bench.make()
    assert not result.accepted
    assert not result.unknown
    assert bench.run.progress.changed == {}
    assert bench.records()[-1]["changed"] is False


def test_a_call_that_is_cut_off_counts_as_one_that_may_have_happened(bench: Bench) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    bench.cluster.faults.before("reassign", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.make()
    assert [text for text in bench.run.progress.changed.values() if "may or may not" in text]
    assert bench.types() == ["step.intent"]


def test_without_a_record_of_the_intent_nothing_is_sent(stage: Stage) -> None:
    class Full(io.BytesIO):
        def flush(self) -> None:
            raise OSError(28, os.strerror(28))

    bench = Bench(stage, Full())
    with pytest.raises(JournalError, match="No space left"):
        bench.make()
    assert bench.calls() == []


@pytest.mark.parametrize(
    ("status", "changed"),
    [(ActionStatus.DONE, True), (ActionStatus.IN_PROGRESS, True), (ActionStatus.NOT_STARTED, False)],
)
def test_a_killed_run_adopts_what_the_cluster_shows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, status: ActionStatus, changed: bool
) -> None:
    monkeypatch.setattr(type(ALL["reassign.noop"]), "probe", lambda *_: status)
    assert change.adopt(bench.run, bench.step, {}, {}, 0.0) is status
    assert bench.calls() == []
    assert bench.run.progress.issued == ([bench.step] if changed else [])
    result = next(record for record in bench.records() if record["type"] == "step.result")
    assert result["changed"] is changed


def test_what_a_killed_run_cannot_find_out_gets_no_result(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ALL["reassign.noop"]), "probe", lambda *_: ActionStatus.UNKNOWN)
    change.adopt(bench.run, bench.step, {}, {}, 0.0)
    assert bench.types() == ["step.probe"]


@pytest.mark.parametrize(
    ("asleep", "late", "waited"),
    [(0.0, 3.0, 3.0), (0.0, None, LATE_SECONDS), (60.0, None, LATE_SECONDS - 60.0), (3600.0, None, 2.0)],
)
def test_a_change_that_may_still_arrive_is_waited_for_before_it_counts_as_not_made(
    bench: Bench, asleep: float, late: float | None, waited: float
) -> None:
    bench.cluster.faults.lose_answer("reassign", applied=False)
    assert bench.make().unknown
    known = replay(bench.records())
    image, sent = known.open[bench.step.id], known.sent[bench.step.id]
    clock = bench.cluster.clock
    assert wall(sent) == pytest.approx(clock.now(), abs=1)
    clock.sleep(asleep)
    began, sleep = clock.monotonic(), type(clock).sleep

    def arrives(its: Any, seconds: float) -> None:
        sleep(its, seconds)
        if late is not None and clock.monotonic() - began == late:
            bench.cluster.reassign(bench.step.args.tp(), bench.step.args.brokers("replicas"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(clock), "sleep", arrives)
        found = change.adopt(bench.run, bench.step, image, sent, LATE_SECONDS)
    assert clock.monotonic() - began == pytest.approx(waited, abs=1.5)
    result = next(r for r in reversed(bench.records()) if r["type"] == "step.result")
    assert (found, result["changed"]) == (
        (ActionStatus.NOT_STARTED, False) if late is None else (ActionStatus.DONE, True)
    )
    if late is None:
        assert result["error"] == "not made: it is not seen 65 s after it may have been sent"


@pytest.mark.parametrize("boot", ["memory", "later", ""])
@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_a_change_that_may_still_arrive_is_waited_for_as_long_whatever_the_clock_shows(
    bench: Bench, seconds: float, boot: str
) -> None:
    """After a boot the host has been up for less than that; where a boot has no name, the clock of the wall is left."""
    bench.cluster.faults.lose_answer("reassign", applied=False)
    assert bench.make().unknown
    known, clock = replay(bench.records()), bench.cluster.clock
    image = known.open[bench.step.id]
    sent = {**known.sent[bench.step.id], "who": {"host": socket.gethostname()}}
    clock.sleep(40.0)
    if boot != "memory":
        clock.reboot(boot)
        clock.sleep(20.0)
    clock.step(seconds)
    began = clock.monotonic()
    change.adopt(bench.run, bench.step, image, sent, LATE_SECONDS)
    waits = {"memory": 25.0, "later": 45.0, "": 2.0 if seconds > 0 else LATE_SECONDS}
    assert clock.monotonic() - began == pytest.approx(waits[boot], abs=1.5)
    other = {**sent, "who": {"host": "elsewhere"}, "boot": "another"}
    assert surely_since(other, clock) == (0.0 if boot else pytest.approx(max(0.0, clock.now() - wall(sent))))
