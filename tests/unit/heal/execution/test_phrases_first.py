"""A phrase is asked for before the first change: a plan that is declined there has changed nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kfix.core.args import Args
from kfix.core.errors import ApprovalError
from kfix.heal.model.plan import Gate, Plan
from tests.shipped import changed
from tests.unit.heal.stage import Answers, Stage


@pytest.fixture
def unclean(tmp_path: Path) -> tuple[Stage, Plan]:
    stage = Stage("isr-gone", tmp_path, runbook="unclean-election")
    plan = stage.plan(Args({"max_loss": -1}))
    assert [s.id for s in plan.steps] == ["longest-log-first", "elect-unclean"]
    return stage, plan


@pytest.mark.parametrize("answers", [["y", ""], ["y", "n"], ["y"], ["y", "wrong", "wrong", "wrong"], ["n"]])
def test_a_declined_unclean_election_has_not_even_reordered(unclean: tuple[Stage, Plan], answers: list[str]) -> None:
    stage, plan = unclean
    stage.human = Answers(answers)
    with pytest.raises(ApprovalError, match="nothing was changed") as caught:
        stage.run(plan)
    assert caught.value.exit_code == 4
    assert stage.methods() == []


def test_the_phrase_is_asked_for_once_and_before_the_first_intent(unclean: tuple[Stage, Plan]) -> None:
    stage, plan = unclean
    stage.human = Answers(["y", plan.steps[1].phrase])
    stage.run(plan)
    assert stage.methods() == ["reassign", "elect"]
    asked = [(r["type"], r["step"]) for r in stage.journal() if r["type"] in {"gate.asked", "step.intent"}]
    assert asked == [
        ("gate.asked", "longest-log-first"),
        ("gate.asked", "elect-unclean"),
        ("step.intent", "longest-log-first"),
        ("step.intent", "elect-unclean"),
    ]
    assert "2 elect-unclean (asks for a phrase, before any change): " in stage.human.shown[0]


def test_a_phrase_that_was_given_does_not_outlive_its_plan(unclean: tuple[Stage, Plan]) -> None:
    """The reordering takes longer than the plan is good for: the election is not carried out any more."""
    stage, plan = unclean
    stage.human = Answers(["y", plan.steps[1].phrase])

    def slow(record: object) -> None:
        if isinstance(record, dict) and record["type"] == "step.result":
            stage.cluster.clock.sleep(5 * 60)

    with pytest.raises(Exception, match=r"elect-unclean: plan .* expired at"):
        stage.run(plan, listener=slow)
    assert stage.methods() == ["reassign"]


def test_a_phrase_of_a_rung_that_may_not_be_needed_is_not_asked_beforehand(stage: Stage) -> None:
    nudge, elect = stage.runbook.steps[1:3]
    stage.runbook = changed(stage.runbook, steps=[nudge, changed(elect, gate=Gate.TYPED)])
    stage.human = Answers(["y"])
    stage.run()
    assert stage.methods() == ["reassign"]
