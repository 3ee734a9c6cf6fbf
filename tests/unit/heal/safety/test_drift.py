"""The facts of a plan: a value that was unknown counts like any other, and a resumed run expects what it changed."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.facts import Fact, FactJson
from kfix.heal.safety.refusals import Drift, PlannedFacts
from tests.each import for_each
from tests.unit.heal.stage import Stage

KEY = "__consumer_offsets-26.leader_epoch"


def now(stage: Stage) -> FactJson:
    return stage.cluster.records.states[TopicPartition("__consumer_offsets", 26)].leader_epoch


@for_each("before", [None, 0, 99])
def test_a_fact_that_had_another_value_or_none_has_drifted(stage: Stage, before: FactJson) -> None:
    facts, found = PlannedFacts([Fact(KEY, before, "the plan")]).compare([KEY], stage.cluster)
    assert found == (Drift(KEY, before, now(stage)),)
    assert facts[KEY].value == now(stage)


def test_a_resumed_run_expects_the_values_of_its_own_changes_and_no_others(stage: Stage) -> None:
    planned = [Fact(KEY, -1, "the plan")]
    assert PlannedFacts(planned, {KEY: now(stage)}).compare([KEY], stage.cluster)[1] == ()
    moved_on = PlannedFacts(planned, {KEY: 99}).compare([KEY], stage.cluster)[1]
    assert moved_on == (Drift(KEY, 99, now(stage)),)
    assert PlannedFacts(planned, {"another": 1}).compare([KEY], stage.cluster)[1] != ()
