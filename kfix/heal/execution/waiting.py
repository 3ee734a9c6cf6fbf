"""What a run waits for, until when, and how far replicas have been copied meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.wording import utc_iso
from kfix.heal.actions.base import Copied
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.context import OpenRun
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import CheckCall, PlannedStep
from kfix.heal.probes.facts import once

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


def report(run: OpenRun, wait: Wait) -> None:
    now = run.clock.monotonic()
    if wait.seconds < _AT_ONCE or now - run.polls.wait_reported_at < _REPORT_EVERY:
        return
    run.polls.wait_reported_at = now
    run.journal.write(
        "wait",
        **({"step": wait.step} if wait.step else {}),
        check=wait.what,
        observed=wait.observed,
        wanted=wait.wanted,
        until=utc_iso(run.clock.now() + wait.left),
        seconds_left=round(wait.left),
    )


_COPY_REPORT_EVERY = 2.0
_RATE_OVER = 30.0


def report_copies(run: OpenRun, steps: Sequence[PlannedStep], wait: Wait | None = None) -> None:
    """Journals the bytes copied, or else what the run waits for, with the time at which the wait ends."""
    now = run.clock.monotonic()
    if now - run.polls.copies_reported_at < _COPY_REPORT_EVERY:
        return
    reader = once(run.reader)
    copying = [c for s in steps if (c := _copied(s, reader)) is not None]
    if not copying:
        if wait is not None:
            report(run, wait)
        return
    run.polls.copies_reported_at = now
    done = sum(c.done for c in copying)
    totals = [c.total for c in copying]
    total = None if None in totals else sum(t for t in totals if t is not None)
    rate = _rate(run.polls.copied, now, done)
    left = (total - done) / rate if total is not None and rate else None
    run.journal.write(
        "progress",
        steps=[s.id for s in steps],
        bytes_done=done,
        bytes_total=total,
        bytes_per_second=None if rate is None else round(rate),
        seconds_left=None if left is None else max(0, round(left)),
        until=None if wait is None else utc_iso(run.clock.now() + wait.left),
    )


def _rate(seen: deque[tuple[float, int]], now: float, done: int) -> float | None:
    """Returns bytes per second over the last 30 s. The measurement restarts when a batch ends and the sum falls."""
    if seen and done < seen[-1][1]:
        seen.clear()
    seen.append((now, done))
    while now - seen[0][0] > _RATE_OVER:
        seen.popleft()
    (then, before), span = seen[0], now - seen[0][0]
    return None if span <= 0 or then == now else (done - before) / span


def _copied(step: PlannedStep, reader: ClusterReader) -> Copied | None:
    try:
        return ACTIONS[step.action].copied(step.args, reader)
    except UnreachableError:
        return None
