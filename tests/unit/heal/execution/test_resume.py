"""A change in doubt: it is not sent again, and a person who has looked may say that it was made."""

from __future__ import annotations

import pytest

from kfix.core.errors import StoppedError
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.run import resume
from kfix.heal.safety.outcomes import Outcome
from tests.unit.heal.stage import Stage


def lose_the_answer(stage: Stage, monkeypatch: pytest.MonkeyPatch, *, applied: bool) -> None:
    """The answer to `nudge` is lost, the process dies, and what the cluster shows does not tell if it was made."""
    monkeypatch.setattr(type(ACTIONS["reassign.noop"]), "probe", lambda *_: ActionStatus.UNKNOWN)
    stage.cluster.faults.lose_answer("reassign", applied=applied)

    def dies(record: object) -> None:
        if isinstance(record, dict) and record["type"] == "step.probe":
            raise KeyboardInterrupt

    with pytest.raises(StoppedError, match="interrupted"):
        stage.run(listener=dies)


@pytest.fixture
def doubtful(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    lose_the_answer(stage, monkeypatch, applied=True)
    return stage


def test_a_run_with_a_step_in_doubt_stops_and_names_the_way_on(doubtful: Stage) -> None:
    with pytest.raises(StoppedError, match="does not show whether the change was made") as stopped:
        resume(doubtful.last_run, doubtful.context())
    assert f"kfix runbook resume {doubtful.last_run.id} --did nudge" in stopped.value.hint
    assert doubtful.methods() == ["reassign"]


@pytest.mark.parametrize("found", [ActionStatus.DONE, ActionStatus.IN_PROGRESS])
def test_a_change_that_the_cluster_shows_is_waited_for_and_not_sent_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, found: ActionStatus
) -> None:
    lose_the_answer(stage, monkeypatch, applied=False)
    monkeypatch.setattr(type(ACTIONS["reassign.noop"]), "probe", lambda *_: found)
    assert resume(stage.last_run, stage.context()).outcome is Outcome.PROVED
    assert stage.methods() == ["reassign", "reelect_controller"]


def test_a_step_in_doubt_that_a_person_answers_for_is_done(doubtful: Stage) -> None:
    result = resume(doubtful.last_run, doubtful.context(), ("nudge",))
    assert result.outcome is Outcome.PROVED
    assert [text.partition(" ")[0] for text in result.changed] == ["nudge:"]
    assert "may or may not" not in result.changed[0]
    assert "step.done_by_hand" in doubtful.types()
    assert doubtful.methods() == ["reassign"]


def test_a_step_in_doubt_that_its_own_checks_do_not_confirm_may_still_have_been_made(doubtful: Stage) -> None:
    doubtful.cluster.faults.unreadable["partition"] = "gone"
    with pytest.raises(StoppedError, match=r"--did nudge: .*inconclusive.*may or may not have happened"):
        resume(doubtful.last_run, doubtful.context(), ("nudge",))
    assert "step.done_by_hand" not in doubtful.types()
