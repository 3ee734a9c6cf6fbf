"""What a person approves is what runs: no yes stretches further, no plan shows one thing and does another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kfix.core.args import Args
from kfix.core.errors import ApprovalError, RefusedError, StoppedError, UsageError
from kfix.core.places import state_home
from kfix.heal.memory.incidents import ALL
from kfix.heal.model.plan import CheckCall, Gate
from kfix.heal.model.runbook import Condition
from kfix.heal.plan import planfile
from kfix.shell.app import app
from tests.shipped import changed
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.heal.stage import Answers, Stage, leave_stuck, reseal

Stages = Callable[[str], Stage]


def test_a_yes_to_one_step_does_not_approve_the_plan(stages: Stages) -> None:
    """A site raises the gate of the first step; the second is of the level "plan" and nobody has seen it."""
    stage = stages("coordinator-stuck-preferred-alive")
    first, second, *_ = stage.runbook.steps
    stage.runbook = changed(stage.runbook, steps=[changed(first, gate=Gate.STEP), second])
    leave_stuck(stage, "elect")
    stage.human = Answers(["y", "n"])
    with pytest.raises(StoppedError, match="nudge was not approved"):
        stage.run()
    assert stage.methods() == ["elect"]
    assert len(stage.human.asked) == 2


@pytest.mark.parametrize("field", ["what", "target", "phrase", "command", "undo"])
def test_a_forged_plan_that_shows_something_else_is_refused(stage: Stage, field: str) -> None:
    plan = stage.plan()
    changed: dict[str, Any] = {field: "harmless"}
    forged = reseal(plan, steps=(replace(plan.steps[0], **changed), *plan.steps[1:]))
    with pytest.raises(UsageError, match=f"'{field}' does not match"):
        planfile.from_json(planfile.to_json(forged), "p")


def test_a_forged_plan_with_nothing_to_prove_is_refused(stage: Stage) -> None:
    plan = stage.plan()
    no_goal = reseal(plan, goal=replace(plan.goal, checks=()))
    with pytest.raises(UsageError, match="has no goal check"):
        planfile.from_json(planfile.to_json(no_goal), "p")
    for change, says in (
        ({"verify": ()}, "no check verifies it"),
        ({"unless": (CheckCall("nosuch", Args({})),)}, "unknown check 'nosuch'"),
    ):
        forged = reseal(plan, steps=(replace(plan.steps[0], **change),))
        with pytest.raises(UsageError, match=says):
            planfile.from_json(planfile.to_json(forged), "p")


def test_a_goal_of_which_no_check_applies_is_not_met_already(stage: Stage) -> None:
    never = Condition.model_validate({"fact": "finding.code", "eq": "KFX000"})
    goal = stage.runbook.goal
    checks = [changed(check, when=never) for check in goal.all]
    stage.runbook = changed(stage.runbook, goal=changed(goal, all=checks))
    with pytest.raises(RefusedError, match="goal: no check applies"):
        stage.plan()


def test_slow_guards_make_the_facts_be_read_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guards took longer than facts stay fresh, and the cluster has changed behind them."""
    from kfix.heal.execution import guards

    asked = guards.check

    def slow(run: Any, step: Any) -> None:
        asked(run, step)
        if stage.human.asked:
            stage.cluster.clock.sleep(2)
            stage.cluster.brokers[1].alive = True

    monkeypatch.setattr(guards, "check", slow)
    with pytest.raises(RefusedError, match="the cluster has changed"):
        stage.run()
    assert stage.methods() == []


def test_a_full_disk_at_the_start_does_not_spend_the_plan(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = stage.plan()

    def full(*_args: object) -> None:
        raise UsageError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(planfile, "write", full)
        with pytest.raises(RefusedError, match="nothing was changed"):
            stage.run(plan)
    assert list(stage.store.runs()) == []
    stage.run(plan)


def test_a_refusal_after_an_earlier_finding_was_healed_does_not_state_that_nothing_changed(tmp_path: Path) -> None:
    from kfix.heal.cli.screen import after

    with pytest.raises(StoppedError, match="earlier findings were healed: nudge") as caught, after(["nudge"]):
        raise ApprovalError("step x was not approved")
    assert caught.value.exit_code == 6
    with pytest.raises(StoppedError, match="interrupted"), after(["nudge"]):
        raise KeyboardInterrupt
    with pytest.raises(ApprovalError), after([]):
        raise ApprovalError("no")
    incident = ALL["coordinator-stuck"]()
    behind = FakeWiring(incident.cluster, incident.finding).app(tmp_path)
    assert CliRunner().invoke(app, ["runbook", "apply", "coordinator-stuck"], obj=behind).exit_code == 4


def test_a_user_without_a_home_is_shown_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(_self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(UsageError, match="no home folder") as caught:
        state_home({})
    assert "KFIX_STATE_HOME" in caught.value.hint


def test_an_output_that_fails_does_not_stop_a_run_half_way(stage: Stage) -> None:
    def full(_record: object) -> None:
        raise OSError(28, "No space left on device")

    assert stage.run(listener=full).changed != ()
    assert stage.journal()[-1]["outcome"] == "proved"
