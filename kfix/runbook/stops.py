"""Why a run ends before its proof. Whether that is a refusal or a stop half-way depends on what was changed."""

from __future__ import annotations

from enum import StrEnum

from kfix.errors import ApprovalError, KfixError, NotProvedError, RefusedError, StoppedError


class Outcome(StrEnum):
    PROVED = "proved"
    ALREADY_WELL = "already_well"
    NOT_PROVED = "not_proved"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"
    DECLINED = "declined"
    INTERRUPTED = "interrupted"
    NO_JOURNAL = "no_journal"


class Stop(Exception):  # noqa: N818 - ends a run in order
    def __init__(self, outcome: Outcome, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.outcome = outcome
        self.hint = hint


def to_error(stop: Stop, *, changed: tuple[str, ...], run: str) -> KfixError:
    """4.6: 3 and 4 promise that nothing was changed, 5 and 6 that something may have been."""
    text = str(stop)
    if stop.outcome in (Outcome.NOT_PROVED, Outcome.INCONCLUSIVE):
        return NotProvedError(text, hint=stop.hint)
    if not changed:
        kind = ApprovalError if stop.outcome in (Outcome.DECLINED, Outcome.INTERRUPTED) else RefusedError
        return kind(f"{text}; nothing was changed", hint=stop.hint)
    done = "; ".join(changed)
    hint = stop.hint or f"kfix runbook history {run}   and   kfix runbook verify {run}"
    return StoppedError(f"{text}; changed before that: {done}", hint=hint)
