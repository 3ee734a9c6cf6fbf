"""The exit code of a run that stopped says whether anything was changed, also by steps that it reverted itself."""

from __future__ import annotations

from kfix.core.errors import ApprovalError, KfixError, NotProvedError, RefusedError, StoppedError
from kfix.heal.safety.outcomes import Outcome, Stop, to_error
from tests.each import for_each

BY_A_PERSON = {Outcome.DECLINED, Outcome.INTERRUPTED}
NOT_PROVED = {Outcome.NOT_PROVED, Outcome.INCONCLUSIVE}


def error(outcome: Outcome, changed: tuple[str, ...] = (), put_back: tuple[str, ...] = ()) -> KfixError:
    return to_error(Stop(outcome, "why"), changed=changed, put_back=put_back, run="r1")


@for_each("outcome", Outcome)
def test_without_a_change_the_exit_code_shows_who_ended_the_run(outcome: Outcome) -> None:
    found = error(outcome)
    assert type(found) is (ApprovalError if outcome in BY_A_PERSON else RefusedError)
    assert str(found) == "why; nothing was changed"


def test_an_interrupted_run_without_a_change_names_the_command_that_continues_it() -> None:
    found = to_error(Stop(Outcome.INTERRUPTED, "interrupted"), changed=(), run="r1", resume="kfix runbook resume r1")
    assert found.hint == "kfix runbook resume r1   continues"


@for_each("outcome", [each for each in Outcome if each is not Outcome.ROLL_BACK])
def test_after_a_change_the_exit_code_shows_whether_the_proof_is_missing(outcome: Outcome) -> None:
    found = error(outcome, ("nudge: done",))
    assert type(found) is (NotProvedError if outcome in NOT_PROVED else StoppedError)
    assert "nudge: done" in str(found)


@for_each("outcome", Outcome)
def test_a_run_that_restored_what_it_changed_does_not_state_that_nothing_was_changed(outcome: Outcome) -> None:
    found = error(outcome, (), ("the throttle",))
    assert type(found) is StoppedError
    assert str(found) == "why; no changes remain; restored by the run itself: the throttle"
