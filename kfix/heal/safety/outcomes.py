"""The outcomes of a run, and the error for each. Which error it is depends on whether anything was changed."""

from enum import StrEnum

from kfix.core.errors import ApprovalError, KfixError, NotProvedError, RefusedError, StoppedError
from kfix.core.harmless import lines


class Outcome(StrEnum):
    PROVED = "proved"
    ALREADY_HEALTHY = "already_healthy"
    NOT_PROVED = "not_proved"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"
    DECLINED = "declined"
    INTERRUPTED = "interrupted"
    NO_JOURNAL = "no_journal"
    LIMIT = "limit"
    BREACH = "breach"
    LOCK_LOST = "lock_lost"
    STEP_FAILED = "step_failed"
    ROLL_BACK = "roll_back"
    UNKNOWN = "unknown"
    UNREACHABLE = "unreachable"
    ABORTED = "aborted"


class Stop(Exception):  # noqa: N818 - ends a run in order
    """Ends a run in order, with its outcome. It becomes a `KfixError` by `to_error`."""

    def __init__(self, outcome: Outcome, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.outcome = outcome
        self.hint = hint


class StalePlan(Stop):
    """Refuses a plan that only a new plan can replace; `Endings.error` adds the command that makes it."""

    def __init__(self, text: str) -> None:
        super().__init__(Outcome.REFUSED, text)


class RollBackWanted(StoppedError):  # noqa: N818 - caught by the caller that can roll the run back
    """A step with `on_failure: rollback` failed. `run` is the id of the run to roll back."""

    def __init__(self, message: str, run: str, at: str = "") -> None:
        super().__init__(message, hint=f"kfix runbook rollback {run}{at}")
        self.run = run


def to_error(
    stop: Stop,
    *,
    changed: tuple[str, ...],
    run: str,
    at: str = "",
    resume: str = "",
    left: tuple[str, ...] = (),
    put_back: tuple[str, ...] = (),
    under_way: str = "",
    rollback: str = "",
) -> KfixError:
    """Returns the error for a stop. Exit codes 3 and 4 mean that nothing was changed, 5 and 6 that something may be.

    `at` ends the commands that reach the cluster; `resume` is the command that continues the run, and `rollback`
    reverts the remaining changes ("" if none of them can be reverted). `changed` describes the changes that remain,
    `put_back` the changes that the run reverted itself, `left` what it could not restore. `under_way` describes copies
    that Kafka is still making.
    """
    text = lines(str(stop)) + (f"; NOT RESTORED, do it by hand or with abort: {'; '.join(left)}" if left else "")
    text += f"; {under_way}" if under_way else ""
    if stop.outcome is Outcome.ROLL_BACK and changed:
        return RollBackWanted(text, run, at)
    if not changed and not put_back:
        kind = ApprovalError if stop.outcome in (Outcome.DECLINED, Outcome.INTERRUPTED) else RefusedError
        again = f"{resume}   continues" if resume and stop.outcome is Outcome.INTERRUPTED else ""
        return kind(text + "; nothing was changed", hint=stop.hint or again)
    restored = f"restored by the run itself: {'; '.join(put_back)}" if put_back else ""
    done = "; ".join(changed)
    if changed and stop.outcome in (Outcome.NOT_PROVED, Outcome.INCONCLUSIVE):
        return NotProvedError(lines(*filter(None, (text, f"changed: {done}", restored))), hint=stop.hint)
    stays = f"changed before that: {done}" if changed else "no changes remain"
    more = "; ".join(filter(None, (stays, restored)))
    return StoppedError(text + f"; {more}", hint=stop.hint or _hint(run, resume, rollback, stays=bool(changed)))


def _hint(run: str, resume: str, rollback: str, *, stays: bool) -> str:
    words = [f"{resume}   continues"]
    if rollback:
        words.append(f"{rollback}   reverts the changes")
    elif stays:
        words.append("the changes cannot be reverted")
    return ";   ".join((*words, f"kfix runbook history {run}   shows every step"))
