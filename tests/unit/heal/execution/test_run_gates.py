"""Gates: who is asked what, what covers what, and that no answer is no."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kfix.core.errors import (
    ApprovalError,
    StoppedError,
    UsageError,
)
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.plan import Gate, OnFailure
from kfix.heal.safety.outcomes import Outcome
from tests.shipped import changed
from tests.unit.heal.stage import Answers, Stage, leave_stuck

TP = TopicPartition("__consumer_offsets", 26)
Stages = Callable[[str], Stage]


# -- gates


@pytest.mark.parametrize("answers", [["n"], ["no"], [], ["", "what", "n"]])
def test_no_and_end_of_input_mean_no(stage: Stage, answers: list[str]) -> None:
    stage.human = Answers(answers)
    with pytest.raises(ApprovalError, match="nothing was changed"):
        stage.run()
    assert stage.methods() == []


def test_a_declined_plan_is_not_spent(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(["n"])
    with pytest.raises(ApprovalError):
        stage.run(plan)
    stage.human = Answers(["y"])
    assert stage.run(plan).outcome is Outcome.PROVED


def test_a_step_declined_after_a_change_is_a_stop_half_way(stage: Stage) -> None:
    leave_stuck(stage, "reassign")
    stage.human = Answers(["y", "n"])
    with pytest.raises(StoppedError, match="changed before that: nudge") as caught:
        stage.run()
    assert caught.value.exit_code == 6


def test_without_a_terminal_nothing_is_changed_and_the_flags_to_pass_are_shown(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    with pytest.raises(ApprovalError) as caught:
        stage.run(plan)
    assert caught.value.exit_code == 4
    apply = f"kfix runbook apply --plan {stage.last_run.plan_path} --approve"
    later = f"(to approve the later steps as well: --approve step:{plan.short_id})"
    assert caught.value.hint == f"{apply} plan:{plan.short_id}   {later}"
    assert stage.methods() == []


def test_a_flag_for_the_plan_covers_the_plan_and_no_more(stage: Stage) -> None:
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    leave_stuck(stage, "reassign")
    with pytest.raises(StoppedError, match="reelect-controller was not approved") as caught:
        stage.run(plan, approve=[f"plan:{plan.short_id}"])
    assert caught.value.hint == f"kfix runbook resume {stage.last_run.id} --approve step:{plan.short_id}"


@pytest.mark.parametrize("flag", ["plan:00000000", "yes", "plan:", "typed:1a2b3c4d", "step:XYZ"])
def test_a_flag_that_names_no_or_another_plan_is_refused(stage: Stage, flag: str) -> None:
    with pytest.raises(UsageError, match="--approve"):
        stage.run(approve=[flag])
    assert stage.methods() == []


def _typed(stage: Stage) -> None:
    nudge = stage.runbook.steps[1]
    stage.runbook = changed(stage.runbook, steps=[changed(nudge, gate=Gate.TYPED)])


PHRASE = "memory-cluster/__consumer_offsets-26/replicas 3,1,2"


def test_no_wholesale_approval_covers_a_typed_step(stage: Stage) -> None:
    _typed(stage)
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    with pytest.raises(ApprovalError) as caught:
        stage.run(plan, approve=[f"step:{plan.short_id}"])
    assert f"--ack 'nudge={PHRASE}'" in caught.value.hint
    stage.run(plan, acks=[f"nudge={PHRASE}"])
    assert stage.methods() == ["reassign"]


def test_a_wrong_ack_is_called_wrong_and_the_right_one_is_named(stage: Stage) -> None:
    _typed(stage)
    with pytest.raises(ApprovalError) as caught:
        stage.run(acks=["nudge=memory-cluster/__consumer_offsets-26/replicas 1,2,3"])
    assert "--ack nudge: wrong phrase 'memory-cluster/__consumer_offsets-26/replicas 1,2,3'" in str(caught.value)
    assert f"the phrase for this step is {PHRASE!r}" in str(caught.value)


def test_all_missing_flags_are_named_at_once_also_those_that_were_given(stage: Stage) -> None:
    nudge, elect = stage.runbook.steps[1], stage.runbook.steps[3]
    typed = changed(elect, gate=Gate.TYPED, on_failure=OnFailure.STOP)
    stage.runbook = changed(stage.runbook, steps=[changed(nudge, on_failure=OnFailure.STOP), typed])
    plan = stage.plan()
    stage.human = Answers(interactive=False)
    ack = f"--ack '{plan.steps[1].id}={plan.steps[1].phrase}'"
    for given in ({}, {"approve": [f"plan:{plan.short_id}"]}, {"acks": [f"reelect-controller={plan.steps[1].phrase}"]}):
        with pytest.raises(ApprovalError) as caught:
            stage.run(plan, **given)
        assert caught.value.hint.endswith(f" --approve plan:{plan.short_id} {ack}")


def test_the_question_why_mentions_that_the_phrase_may_be_given_beforehand(stage: Stage) -> None:
    """As the plan's own line does, which passes it by --ack."""
    _typed(stage)
    stage.human = Answers(["?", ""])
    with pytest.raises(ApprovalError):
        stage.run()
    assert "pass it with --ack while the plan is at most 5 minutes old" in stage.human.shown[1]


def test_an_ack_for_a_step_that_is_not_typed_is_refused(stage: Stage) -> None:
    with pytest.raises(UsageError, match="--ack"):
        stage.run(acks=["nudge=x"])


def test_what_the_human_saw_is_kept_by_hash_and_text(stage: Stage) -> None:
    import hashlib

    stage.run()
    asked = next(r for r in stage.journal() if r["type"] == "gate.asked")
    text = (stage.last_run.path / "gate-1.txt").read_text()
    assert hashlib.sha256(text.encode()).hexdigest() == asked["shown_sha256"]
    assert text == stage.human.shown[0]
