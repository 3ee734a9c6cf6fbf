"""What a run waits for, and until when: reported every few seconds, so that the screen never looks frozen."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.core.wording import utc_iso
from kfix.heal.execution.context import OpenRun
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import CheckCall

_REPORT_EVERY = 5.0
# A shorter wait is not reported.
_AT_ONCE = 2.0


@dataclass(frozen=True, slots=True)
class Wait:
    """A check that does not pass yet. `seconds` is the time waited so far, `left` the most that remains.

    `step` is "" if no single step is waited for.
    """

    step: str
    what: str
    observed: str
    wanted: str
    seconds: float
    left: float

    @classmethod
    def of(cls, call: CheckCall, answer: Answer, *, seconds: float, limit: float, step: str = "") -> Wait:
        return cls(step, str(call), answer.observed, answer.wanted, seconds, max(0.0, limit - seconds))


@dataclass(slots=True)
class Waits:
    run: OpenRun
    reported_at: float = field(default=float("-inf"))

    def report(self, wait: Wait) -> None:
        now = self.run.clock.monotonic()
        if wait.seconds < _AT_ONCE or now - self.reported_at < _REPORT_EVERY:
            return
        self.reported_at = now
        self.run.journal.write(
            "wait",
            **({"step": wait.step} if wait.step else {}),
            check=wait.what,
            observed=wait.observed,
            wanted=wait.wanted,
            until=utc_iso(self.run.clock.now() + wait.left),
            seconds_left=round(wait.left),
        )
