"""What must hold for a change is looked at after the answer, right before the intent: a person takes their time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kfix.core.errors import KfixError, RefusedError
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.gate.gates import Given
from kfix.heal.model.plan import Gate
from tests.shipped import changed
from tests.unit.heal.stage import Answers, Stage, leave_stuck

TP = TopicPartition("__consumer_offsets", 26)
PHRASE = "memory-cluster/__consumer_offsets-26/replicas 3,1,2"


def at_gate(stage: Stage, level: Gate) -> None:
    nudge = stage.runbook.steps[1]
    stage.runbook = changed(stage.runbook, steps=[changed(nudge, gate=level)])
    stage.human = Answers([PHRASE if level >= Gate.TYPED else "y"])


def thinks_for(stage: Stage, seconds: float) -> None:
    stage.human.then = lambda: stage.cluster.clock.sleep(seconds)


@pytest.mark.parametrize(
    ("level", "seconds"), [(Gate.PLAN, 30 * 60), (Gate.STEP, 30 * 60), (Gate.TYPED, 5 * 60), (Gate.TWO_PERSON, 5 * 60)]
)
def test_an_answer_after_the_plan_expired_changes_nothing(stage: Stage, level: Gate, seconds: float) -> None:
    at_gate(stage, level)
    thinks_for(stage, seconds)
    with pytest.raises(RefusedError, match=r"expired at .*nothing was changed"):
        stage.run(given=Given(countersigned="somebody"))
    assert stage.methods() == []
    assert "step.intent" not in stage.types()


def test_an_answer_just_in_time_is_good(stage: Stage) -> None:
    at_gate(stage, Gate.TYPED)
    thinks_for(stage, 5 * 60 - 10)
    stage.run()
    assert stage.methods() == ["reassign"]


def test_a_plan_that_was_begun_in_time_goes_on_after_it_expired(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    thinking = iter([0.0, 31 * 60.0])
    stage.human.then = lambda: stage.cluster.clock.sleep(next(thinking))
    stage.run()
    assert stage.methods() == ["reassign", "reelect_controller"]


def test_a_precondition_that_fails_while_the_human_thinks_stops_the_run(stage: Stage) -> None:
    stage.human.then = lambda: stage.cluster.records.assignments.update({TP: Assignment((3, 1, 2), adding=(4,))})
    with pytest.raises(RefusedError, match="nothing was changed"):
        stage.run()
    assert stage.methods() == []


def losing_the_lock(stage: Stage, number: int) -> None:
    """At the reading of that number."""
    reads, recorded = itertools.count(1), stage.cluster.recorded

    def reading(tp: TopicPartition) -> PartitionReading:
        if next(reads) == number:
            stage.cluster.lock.lose()
        return recorded(tp)

    stage.cluster.recorded = reading  # type: ignore[method-assign]


def test_a_lock_that_is_lost_in_any_reading_before_the_intent_is_seen(stages: Callable[[str], Stage]) -> None:
    number = issued = 0
    while not issued:
        number += 1
        stage = stages("coordinator-stuck")
        plan = stage.plan()
        losing_the_lock(stage, number)
        with pytest.raises(KfixError, match="the lock was lost"):
            stage.run(plan)
        issued = len(stage.methods())
        assert ("step.intent" in [r["type"] for r in stage.records]) == bool(issued)
    assert number > 3


def test_after_a_slow_disk_at_the_intent_the_time_is_checked_again(stage: Stage) -> None:
    at_gate(stage, Gate.TYPED)

    def slow(record: Mapping[str, Any]) -> None:
        if record["type"] == "step.intent":
            stage.cluster.clock.sleep(5 * 60)

    with pytest.raises(RefusedError, match="expired at"):
        stage.run(listener=slow)
    assert stage.methods() == []
    result = next(r for r in stage.journal() if r["type"] == "step.result")
    assert (result["error"], result["changed"]) == ("not issued", False)
