"""What a run waits for, until when, and how far replicas have been copied meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.wording import utc_iso
from kfix.heal.actions.base import Copied
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.context import OpenRun
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import CheckCall, PlannedStep
from kfix.heal.probes.facts import once

# What a run waits for, and until when: reported every few seconds, so that the screen never looks frozen.

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


_COPY_REPORT_EVERY = 2.0
_RATE_OVER = 30.0


@dataclass(slots=True)
class Meter:
    """Reports how far replicas have been copied while a run waits: bytes, rate and time left."""

    run: OpenRun
    waits: Waits
    reported_at: float = field(default=float("-inf"))
    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def poll(self, steps: Sequence[PlannedStep], wait: Wait | None = None) -> None:
        """Journals the bytes copied, or else what the run waits for, with the time at which the wait ends."""
        now = self.run.clock.monotonic()
        if now - self.reported_at < _COPY_REPORT_EVERY:
            return
        reader = once(self.run.reader)
        copying = [c for s in steps if (c := self._copied(s, reader)) is not None]
        if not copying:
            if wait is not None:
                self.waits.report(wait)
            return
        self.reported_at = now
        done = sum(c.done for c in copying)
        totals = [c.total for c in copying]
        total = None if None in totals else sum(t for t in totals if t is not None)
        rate = self._rate(now, done)
        left = (total - done) / rate if total is not None and rate else None
        self.run.journal.write(
            "progress",
            steps=[s.id for s in steps],
            bytes_done=done,
            bytes_total=total,
            bytes_per_second=None if rate is None else round(rate),
            seconds_left=None if left is None else max(0, round(left)),
            until=None if wait is None else utc_iso(self.run.clock.now() + wait.left),
        )

    def _rate(self, now: float, done: int) -> float | None:
        """Returns bytes per second over the last 30 s. The measurement restarts when a batch ends and the sum falls."""
        if self.seen and done < self.seen[-1][1]:
            self.seen.clear()
        self.seen.append((now, done))
        while now - self.seen[0][0] > _RATE_OVER:
            self.seen.popleft()
        (then, before), span = self.seen[0], now - self.seen[0][0]
        return None if span <= 0 or then == now else (done - before) / span

    def _copied(self, step: PlannedStep, reader: ClusterReader) -> Copied | None:
        try:
            return ACTIONS[step.action].copied(step.args, reader)
        except UnreachableError:
            return None
