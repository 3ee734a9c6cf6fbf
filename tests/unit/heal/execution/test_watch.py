"""What ends a run or lets it wait: moves that nobody lists, an invariant that cannot be read, a wait in vain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.args import Args
from kfix.core.snapshot.snapshot import Assignment
from kfix.heal.execution import guards, watch
from kfix.heal.execution.watch import PAUSE_SECONDS, UNREADABLE_SECONDS, hopeless
from kfix.heal.model.plan import CheckCall, Invariant, OnBreach
from kfix.heal.safety.outcomes import Outcome, Stop
from tests.unit.heal.execution.parts import growing, parts
from tests.unit.heal.stage import Stage


@pytest.fixture
def weak(tmp_path: Path) -> Stage:
    return Stage("weak-topic", tmp_path, runbook="raise-topic-rf")


def later(stage: Stage, seconds: float, method: str, patch: pytest.MonkeyPatch) -> None:
    """Makes a method of the cluster unreadable for so long."""
    clock, unreadable = stage.cluster.clock, stage.cluster.faults.unreadable
    until, sleep = clock.monotonic() + seconds, clock.sleep
    unreadable[method] = "gone"

    def passes(more: float) -> None:
        sleep(more)
        if clock.monotonic() >= until:
            unreadable.pop(method, None)

    patch.setattr(type(clock), "sleep", lambda _clock, more: passes(more))


@pytest.mark.parametrize("seconds", [10.0, UNREADABLE_SECONDS + 5])
def test_moves_that_no_controller_lists_are_waited_for_and_then_end_the_run(
    weak: Stage, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    plan, step = growing(weak)
    with parts(weak, replace(plan, preconditions=(), invariants=())) as (run, records):
        later(weak, seconds, "reassignments", monkeypatch)
        if seconds < UNREADABLE_SECONDS:
            watch.before_change(run, step)
            assert [r["observed"] for r in records if r["type"] == "wait"][:1] == ["reassignments: gone"]
            return
        with pytest.raises(Stop, match="the number of partitions being moved cannot be read") as stop:
            watch.before_change(run, step)
        assert stop.value.outcome is Outcome.UNREACHABLE


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_moves_are_under_way_than_the_limit(weak: Stage, most: int) -> None:
    plan, step = growing(weak)
    tp = next(each for each in weak.cluster.records.assignments if each != step.args.tp())
    now = weak.cluster.records.assignments[tp].replicas
    weak.cluster.records.assignments[tp] = Assignment((*now, 9), adding=(9,))
    capped = replace(plan, preconditions=(), caps=replace(plan.caps, max_concurrent_moves=most))
    with parts(weak, capped) as (run, _):
        if most > 1:
            watch.before_change(run, step)
            return
        with pytest.raises(Stop, match=r"partitions being moved: 1; the limit is 1 at once") as stop:
            watch.before_change(run, step)
        assert stop.value.outcome is Outcome.LIMIT


@pytest.mark.parametrize("on_breach", OnBreach)
@pytest.mark.parametrize("seconds", [10.0, PAUSE_SECONDS + 5])
def test_an_invariant_that_cannot_be_read_is_broken(
    weak: Stage, monkeypatch: pytest.MonkeyPatch, on_breach: OnBreach, seconds: float
) -> None:
    plan, _ = growing(weak)
    call = CheckCall("brokers_live_at_least", Args({"n": 3}))
    with parts(weak, replace(plan, invariants=(Invariant(call, on_breach),))) as (run, records):
        later(weak, seconds, "zookeeper", monkeypatch)
        if on_breach is OnBreach.PAUSE and seconds < PAUSE_SECONDS:
            watch.invariants(run)
            assert [r["type"] for r in records if r["type"] in ("pause", "resume")] == ["pause", "resume"]
            return
        with pytest.raises(Stop, match=r"invariant.*inconclusive: zookeeper: gone") as stop:
            watch.invariants(run)
        assert stop.value.outcome is Outcome.BREACH


def test_an_invariant_that_is_broken_ends_a_run_before_its_next_change(weak: Stage) -> None:
    plan, step = growing(weak)
    lively = Invariant(CheckCall("brokers_live_at_least", Args({"n": 9})), OnBreach.STOP)
    with parts(weak, replace(plan, preconditions=(), invariants=(lively,))) as (run, _):
        with pytest.raises(Stop, match="an invariant no longer holds") as stop:
            watch.before_change(run, step)
        assert stop.value.outcome is Outcome.BREACH


@pytest.mark.parametrize(("spent", "over"), [(59.0, False), (60.0, False), (61.0, True)])
def test_the_limit_of_the_duration_ends_a_run_before_a_change_and_while_it_waits(
    weak: Stage, spent: float, over: bool
) -> None:
    plan, step = growing(weak)
    capped = replace(plan, preconditions=(), caps=replace(plan.caps, max_duration=60.0))
    with parts(weak, capped) as (run, _):
        weak.cluster.clock.sleep(spent)
        for check in (watch.before_change, guards.right_before, lambda run, one: watch.poll(run, [one])):
            if not over:
                check(run, step)
                continue
            with pytest.raises(Stop, match=r"the limit is 60 s \(limits.max_duration\)") as stop:
                check(run, step)
            assert stop.value.outcome is Outcome.LIMIT


def test_a_wait_is_in_vain_only_where_that_is_known(weak: Stage) -> None:
    _, step = growing(weak)
    [added] = set(step.args.brokers("replicas")) - set(step.args.brokers("before"))
    assert hopeless(step, weak.cluster) == ""
    weak.cluster.faults.unreadable["zookeeper"] = "gone"
    assert hopeless(step, weak.cluster) == ""
    del weak.cluster.faults.unreadable["zookeeper"]
    weak.cluster.kill(added)
    assert f"missing [{added}]" in hopeless(step, weak.cluster)
