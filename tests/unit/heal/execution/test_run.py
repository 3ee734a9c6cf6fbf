"""A run heals, climbs its ladder, looks after lost answers, and proves or does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kfix.core.errors import (
    ApprovalError,
    NotProvedError,
    RefusedError,
    StoppedError,
)
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.execution.run import prove_again
from kfix.heal.journal.replay import replay
from kfix.heal.memory.state import ElectionState
from kfix.heal.model.plan import Goal
from kfix.heal.plan.steps import explain
from kfix.heal.safety.outcomes import Outcome
from tests.unit.heal.stage import Answers, Stage, leave_stuck

TP = TopicPartition("__consumer_offsets", 26)
Stages = Callable[[str], Stage]
#: No replica outside the ISR is alive there, so that the election of an in-sync one is among the remedies.
TWO_REPLICAS = "coordinator-stuck-of-two-replicas"


# -- the good way (tests/catalogue/test_runbooks.py carries out every incident of every runbook)


def test_explain_and_apply_visit_the_same_steps(stage: Stage) -> None:
    plan = stage.plan()
    stage.run(plan)
    visited = dict.fromkeys(r["step"] for r in stage.journal() if r["type"] in ("step.intent", "step.skipped"))
    assert list(visited) == [step.id for _, step in explain(plan)]


# -- the ladder


def test_a_rung_that_does_not_take_gives_way_to_the_next(stages: Stages) -> None:
    stage = stages(TWO_REPLICAS)
    leave_stuck(stage, "reassign")
    stage.run()
    assert stage.methods() == ["reassign", "elect"]
    assert stage.cluster.faults.calls[1].args == (TP, True)
    assert stage.types().count("step.not_verified") == 1


def test_the_last_rung_is_the_fenced_re_election_of_the_controller(stages: Stages) -> None:
    stage = stages(TWO_REPLICAS)
    leave_stuck(stage, "reassign")
    stage.cluster.faults.answer("elect", ChangeResult(84, "ELECTION_NOT_NEEDED"))
    healed = stage.run()
    assert stage.methods() == ["reassign", "elect", "reelect_controller"]
    assert stage.cluster.faults.calls[2].args == (2,)
    assert healed.outcome is Outcome.PROVED


def test_a_goal_that_is_met_before_the_first_step_changes_nothing(stage: Stage) -> None:
    plan = stage.plan()
    stage.cluster.reassign(TP, (3, 1, 2))
    stage.cluster.faults.calls.clear()
    healed = stage.run(plan)
    assert healed.outcome is Outcome.ALREADY_HEALTHY
    assert stage.methods() == []


def test_a_cluster_that_heals_while_the_human_thinks_is_left_alone(stage: Stage) -> None:
    stage.human.then = lambda: stage.cluster.control.fail_over_to(3)
    assert stage.run().changed == ()
    assert stage.methods() == []


def test_a_coordinator_that_still_loads_is_waited_for_and_no_controller_is_touched(stage: Stage) -> None:
    stage.cluster.loading[26] = 40
    stage.run()
    assert stage.methods() == ["reassign"]


def test_the_isr_is_read_again_before_the_election_named_unclean(stage: Stage) -> None:
    """The last in-sync replica dies while the human thinks: the election must not happen."""
    leave_stuck(stage, "reassign")

    def later() -> None:
        if stage.methods():
            stage.cluster.kill(2)

    stage.human.then = later
    with pytest.raises(StoppedError):
        stage.run()
    assert stage.methods() == ["reassign"]


# -- answers that are lost


def test_a_lost_answer_and_a_failed_reading_end_the_run_as_changed(stage: Stage) -> None:
    stage.cluster.faults.lose_answer("reassign", applied=True)

    def blind(record: Mapping[str, Any]) -> None:
        if record["type"] == "step.result":
            stage.cluster.faults.unreadable["zookeeper"] = "gone"

    with pytest.raises(StoppedError, match="may or may not have happened"):
        stage.run(listener=blind)
    assert stage.methods() == ["reassign"]


def test_a_refused_change_changes_nothing_and_is_reported(stage: Stage) -> None:
    stage.cluster.faults.answer("reassign", ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))
    stage.human = Answers(["y", "n"])
    with pytest.raises(ApprovalError, match="nothing was changed"):
        stage.run()
    result = next(r for r in stage.journal() if r["type"] == "step.result")
    assert (result["changed"], result["error"]) == (False, "CLUSTER_AUTHORIZATION_FAILED")


# -- the proof


def test_a_broker_that_does_not_answer_makes_the_proof_inconclusive(stage: Stage) -> None:
    stage.cluster.silence(3)
    with pytest.raises(NotProvedError, match="inconclusive") as caught:
        stage.run()
    assert caught.value.exit_code == 5
    assert "broker 3 did not answer" in str(caught.value)


def test_a_coordinator_that_never_loads_is_not_called_well(stage: Stage) -> None:
    stage.cluster.loading[26] = 10**6
    with pytest.raises(NotProvedError, match="OffsetFetch of broker 2 14"):
        stage.run()


def test_an_election_that_went_outside_the_isr_is_not_called_well(stages: Stages) -> None:
    """The race that Kafka cannot exclude: the partition works, and still the run says that it is not proved."""
    stage = stages(TWO_REPLICAS)
    leave_stuck(stage, "reassign")

    def lost_race() -> None:
        stage.cluster.records.write_state(TP, 3, 9, (3,))
        stage.cluster.control.remember(TP, ElectionState.ONLINE)
        stage.cluster.control.inform((TP,))

    stage.cluster.faults.answer("elect", ChangeResult(0, "NONE"))
    stage.cluster.faults.before("elect", lost_race)
    stage.human = Answers(["y", "y"])
    with pytest.raises(NotProvedError, match=r"expected: a leader among \[2\]"):
        stage.run()


def test_good_reads_must_come_in_a_row(stage: Stage) -> None:
    from kfix.heal.model.answer import Verdict
    from kfix.heal.safety.proof import prove

    stage.run()
    plan = stage.last_run.plan()
    flaps = 0

    def flap(_call: object, _answer: object, in_row: int) -> None:
        nonlocal flaps
        if in_row == 2 and flaps < 1:
            flaps += 1
            stage.cluster.loading[26] = 1

    found = prove(Goal(plan.goal.checks, 5, 0.2, 3), stage.cluster, stage.cluster.clock, flap)
    assert found.verdict is Verdict.PASS
    assert found.seconds == pytest.approx(1.0)


def test_a_proof_can_be_repeated_and_changes_nothing(stage: Stage) -> None:
    stage.run()
    plan = stage.last_run.plan()
    assert prove_again(plan, stage.cluster, stage.cluster.clock)[0].verdict == "pass"
    stage.cluster.corrupt_state(TP, leader=-1, isr=(2,))
    assert prove_again(plan, stage.cluster, stage.cluster.clock)[0].verdict == "fail"
    assert stage.methods() == ["reassign"]


def test_a_proof_on_another_cluster_is_refused(stage: Stage) -> None:
    stage.run()
    stage.cluster.cluster_id = "prod-us"
    with pytest.raises(RefusedError, match="this is prod-us"):
        prove_again(stage.last_run.plan(), stage.cluster, stage.cluster.clock)


def test_a_change_whose_answer_was_lost_and_that_arrives_later_is_adopted_and_not_in_doubt(stage: Stage) -> None:
    """A frozen controller of KRaft carries a change out when it resumes; nobody else changes the partition."""
    reassign = stage.cluster.reassign
    stage.cluster.faults.lose_answer("reassign", applied=False)

    def arrives(record: Mapping[str, Any]) -> None:
        if record["type"] == "step.probe" and record["progress"] == "not_started":
            (plan,) = (stage.last_run.plan(),)
            step = next(each for each in plan.steps if each.action == "reassign.noop")
            reassign(step.args.tp(), step.args.brokers("replicas"))

    healed = stage.run(listener=arrives)
    results = [r["changed"] for r in stage.journal() if r["type"] == "step.result"]
    assert results == [None, True]
    assert "may or may not" not in healed.changed[0]
    known = replay(stage.journal())
    assert (known.open, len(known.done)) == ({}, 1)
