"""Why a run ends before its proof. Whether that is a refusal or a stop half-way depends on what was changed."""

from __future__ import annotations

from enum import StrEnum

from kfix.errors import ApprovalError, KfixError, NotProvedError, RefusedError, StoppedError
from kfix.harmless import lines


class Outcome(StrEnum):
    PROVED = "proved"
    ALREADY_WELL = "already_well"
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


#: The hint of a stop after which only another plan can go on; whoever reports it names the command.
ANOTHER_PLAN = "make a new plan"


class Stop(Exception):  # noqa: N818 - ends a run in order
    def __init__(self, outcome: Outcome, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.outcome = outcome
        self.hint = hint


class RollBackWanted(StoppedError):  # noqa: N818 - a stop of its own, caught by whoever can take the run back
    """A step failed whose runbook says: take everything back. `run` names what is to be taken back."""

    def __init__(self, message: str, run: str) -> None:
        super().__init__(message, hint=f"kfix runbook rollback {run}")
        self.run = run


def to_error(
    stop: Stop,
    *,
    changed: tuple[str, ...],
    run: str,
    left: tuple[str, ...] = (),
    put_back: tuple[str, ...] = (),
    under_way: str = "",
    rollback: str = "",
) -> KfixError:
    """Exit codes 3 and 4 promise that nothing was changed, 5 and 6 that something may have been.

    `changed` is what stays changed, `put_back` what the run changed and took back itself, `left` what it could not take
    back. `under_way` describes copies that Kafka goes on making. `rollback` is the command that takes back what stays
    changed, "" where nothing of it can be taken back.
    """
    text = lines(str(stop)) + (f"; LEFT ON, put it back by hand or by abort: {'; '.join(left)}" if left else "")
    text += f"; {under_way}" if under_way else ""
    if stop.outcome is Outcome.ROLL_BACK and changed:
        return RollBackWanted(text, run)
    if not changed and not put_back:
        kind = ApprovalError if stop.outcome in (Outcome.DECLINED, Outcome.INTERRUPTED) else RefusedError
        return kind(text + "; nothing was changed", hint=stop.hint)
    restored = f"put back by the run itself: {'; '.join(put_back)}" if put_back else ""
    done = "; ".join(changed)
    if changed and stop.outcome in (Outcome.NOT_PROVED, Outcome.INCONCLUSIVE):
        return NotProvedError(lines(*filter(None, (text, f"changed: {done}", restored))), hint=stop.hint)
    stays = f"changed before that: {done}" if changed else "nothing stays changed"
    more = "; ".join(filter(None, (stays, restored)))
    return StoppedError(text + f"; {more}", hint=stop.hint or _hint(run, rollback, stays=bool(changed)))


def _hint(run: str, rollback: str, *, stays: bool) -> str:
    words = [f"kfix runbook resume {run}   goes on"]
    if rollback:
        words.append(f"{rollback}   takes it back")
    elif stays:
        words.append("what was changed cannot be taken back")
    return ";   ".join((*words, f"kfix runbook history {run}   shows every step"))
