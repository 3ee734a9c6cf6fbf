"""A run heals, climbs its ladder, looks after lost answers, and proves or does not."""

from __future__ import annotations

import json
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
from kfix.heal.gate.gates import Given
from kfix.heal.journal.journal import read_back
from kfix.heal.journal.replay import replay
from kfix.heal.memory.state import ElectionState
from kfix.heal.model.plan import Gate
from kfix.heal.plan.codec import to_plain
from kfix.heal.plan.explain import explain
from kfix.heal.safety.outcomes import Outcome
from tests.unit.heal.stage import Answers, Stage, leave_stuck

TP = TopicPartition("__consumer_offsets", 26)
Stages = Callable[[str], Stage]
#: No replica outside the ISR is alive there, so that the election of an in-sync one is among the remedies.
TWO_REPLICAS = "coordinator-stuck-of-two-replicas"


# -- the good way


def test_the_founding_incident_is_healed_by_one_no_op_reassignment_and_proved(stage: Stage) -> None:
    healed = stage.run()
    assert healed.outcome is Outcome.PROVED
    assert stage.methods() == ["reassign"]
    assert healed.proof.in_row == 3
    assert healed.seconds < 2


def test_a_live_preferred_replica_is_elected_and_nothing_else_is_touched(stages: Stages) -> None:
    stage = stages("coordinator-stuck-preferred-alive")
    stage.run()
    assert [c.args for c in stage.cluster.faults.calls] == [(TP, False)]


def test_five_stuck_partitions_are_healed_by_one_answer(stages: Stages) -> None:
    stage = stages("coordinator-stuck-five-partitions")
    stage.run()
    assert stage.methods() == ["reassign"] * 5
    assert len(stage.human.asked) == 1


def test_the_latent_divergence_is_mended_and_the_isr_is_full_again(stages: Stages) -> None:
    stage = stages("metadata-divergence")
    stage.run()
    state = stage.cluster.records.states[TP]
    assert (state.leader, set(state.isr)) == (1, {1, 2, 3})
    assert stage.methods() == ["reassign"]


def test_what_ran_is_what_was_approved_byte_for_byte(stages: Stages) -> None:
    for incident in ("coordinator-stuck", "coordinator-stuck-five-partitions", "metadata-divergence"):
        stage = stages(incident)
        plan = stage.plan()
        stage.run(plan)
        planned = {s.id: json.dumps(to_plain(s.args)) for s in plan.steps}
        ran = {r["step"]: json.dumps(r["args"]) for r in stage.journal() if r["type"] == "step.intent"}
        assert ran
        assert ran == {step: planned[step] for step in ran}


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


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_answer_is_looked_after_and_never_asked_again(stage: Stage, applied: bool) -> None:
    stage.cluster.faults.lose_answer("reassign", applied=applied)
    healed = stage.run()
    assert stage.methods() == (["reassign"] if applied else ["reassign", "reelect_controller"])
    probe = next(r for r in stage.journal() if r["type"] == "step.probe")
    assert probe["progress"] == ("done" if applied else "not_started")
    assert ("may or may not" in healed.changed[0]) is not applied


@pytest.mark.parametrize("code", [7, 13, 99])
def test_an_answer_that_may_come_after_the_change_is_no_answer(stage: Stage, code: int) -> None:
    stage.cluster.faults.answer("reassign", ChangeResult(code, "SOMETHING"), applied=True)
    assert stage.run().changed[0].startswith("nudge: reassign ")
    assert [r["changed"] for r in stage.journal() if r["type"] == "step.result"] == [None, True]
    assert stage.methods() == ["reassign"]


def test_a_lost_answer_and_a_blind_look_end_the_run_as_changed(stage: Stage) -> None:
    stage.cluster.faults.lose_answer("reassign", applied=True)

    def blind(record: Mapping[str, Any]) -> None:
        if record["type"] == "step.result":
            stage.cluster.faults.unreadable["zookeeper"] = "gone"

    with pytest.raises(StoppedError, match="may or may not have happened"):
        stage.run(listener=blind)
    assert stage.methods() == ["reassign"]


def test_a_refused_change_changes_nothing_and_says_so(stage: Stage) -> None:
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
    from kfix.heal.safety.proof import ProofTerms, prove

    stage.run()
    plan = stage.last_run.plan()
    flaps = 0

    def flap(_call: object, _answer: object, in_row: int) -> None:
        nonlocal flaps
        if in_row == 2 and flaps < 1:
            flaps += 1
            stage.cluster.loading[26] = 1

    found = prove(ProofTerms(plan.goal.checks, 5, 0.2, 3), stage.cluster, stage.cluster.clock, flap)
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


def test_given_approves_nothing_by_default() -> None:
    assert Given().level is Gate.AUTO


def test_every_journal_of_these_endings_is_whole(stage: Stage) -> None:
    stage.run()
    back = read_back(stage.last_run.journal_path)
    assert not back.torn
    assert not back.broken
    assert back.records[-1]["outcome"] == "proved"


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
