"""Another throttle while a run copies replicas: asked for from outside, carried out by the run itself.

`kfix runbook throttle RUN RATE` leaves a wish in the run's folder. The run that holds the lock takes it up at its next
look; what it restores at the end is still what it found at the beginning.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kfix.actions.base import ActionStatus
from kfix.actions.registry import ALL as ACTIONS
from kfix.documents.opening import read_file
from kfix.errors import RefusedError, UsageError
from kfix.model.plan.args import ArgKind, Args, coerce
from kfix.model.plan.plan import Phase, Plan, PlannedStep
from kfix.ports import Clock, ClusterReader
from kfix.private import write_private
from kfix.runbook.execution.change import Change
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.journal.interrupts import held_back
from kfix.runbook.journal.journal import Journal
from kfix.runbook.plan.codec import to_plain
from kfix.runbook.safety.door import Passage

_ACTION = "throttle.rate"
_LARGEST = 1 << 16
_FILE = "throttle.wish.json"
#: Bytes per second.
LEAST_RATE = 1000
# A broker hears of its new throttle a moment after it was accepted, and tells the old one until then.
_SEEN_WITHIN, _LOOK_EVERY = 5.0, 0.1


def wish(run: Path, plan: Plan, rate: str, by: str) -> int:
    """Leaves the wish; bytes per second."""
    if not any(step.action == _ACTION for step in plan.steps):
        raise UsageError(f"{run.name} throttles nothing, so there is nothing to change")
    try:
        found = coerce(ArgKind.RATE, rate)
    except ValueError as error:
        raise UsageError(str(error)) from error
    assert isinstance(found, int)
    if found < LEAST_RATE:
        raise UsageError(f"{rate} is too little: at least {LEAST_RATE} bytes per second, or nothing ever arrives")
    try:
        write_private(run / _FILE, json.dumps({"rate": found, "by": by}).encode())
    except OSError as error:
        raise UsageError(f"{run / _FILE}: cannot be written: {error.strerror}") from error
    return found


@dataclass(frozen=True, slots=True)
class Rethrottle:
    run: Path
    plan: Plan
    reader: ClusterReader
    passage: Passage
    clock: Clock
    journal: Journal
    progress: RunProgress
    change: Change

    def poll(self) -> None:
        path = self.run / _FILE
        if not path.exists():
            return
        asked = _read(path)
        with suppress(OSError):
            path.unlink()
        if asked is None:
            self.journal.write("note", text=f"{_FILE}: not a wish kfix made; ignored")
            return
        rate, by = asked
        if any(s.phase is Phase.ALWAYS for s in self.progress.issued):
            self.journal.write("note", text=f"{_FILE}: the throttles are put back already; ignored")
            return
        if not self.passage.may_rethrottle:
            self.journal.write("note", text=f"{_FILE}: the site's policy asks before each throttle; ignored")
            return
        try:
            self.passage.refuse_while_cut()
        except RefusedError as error:
            self.journal.write("note", text=f"{_FILE}: ignored: {error}")
            return
        throttled = {s.id for s in self.progress.issued} | self.progress.done
        steps = [step for step in self.plan.steps if step.action == _ACTION and step.id in throttled]
        for step in steps:
            self._change(step, step.args.with_(rate=rate), by)
        until = self.clock.monotonic() + _SEEN_WITHIN
        for step in steps:
            self._wait_seen(step.args.with_(rate=rate), until)
            self.change.move_on(step)

    def _change(self, step: PlannedStep, args: Args, by: str) -> None:
        with held_back():
            self.journal.write("throttle.intent", step=step.id, args=to_plain(args), by=by)
            self.change.note(step, {}, args.number("rate"))
            result = self.passage.send(_ACTION, args)
            self.journal.write(
                "throttle.result", step=step.id, ok=result.accepted, error="" if result.accepted else result.name
            )

    def _wait_seen(self, args: Args, until: float) -> None:
        while ACTIONS[_ACTION].probe(args, {}, self.reader) is not ActionStatus.DONE and self.clock.monotonic() < until:
            self.clock.sleep(_LOOK_EVERY)


def _read(path: Path) -> tuple[int, str] | None:
    try:
        data = json.loads(read_file(path, _LARGEST))
        rate = coerce(ArgKind.RATE, data["rate"])
    except (OSError, UsageError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return (rate, str(data.get("by", "?"))) if isinstance(rate, int) and rate >= LEAST_RATE else None
