"""Changes the throttle of a run that is copying replicas: requested from outside, carried out by the run itself.

`kfix runbook throttle RUN RATE` leaves a request in the run's folder. The run, which holds the lock, applies it within
seconds. At its end the run still restores the settings that it found at its beginning.
"""

import json
from contextlib import suppress
from pathlib import Path

from kfix.core.args import ArgKind, Args, coerce
from kfix.core.documents.opening import read_file
from kfix.core.errors import RefusedError, UsageError
from kfix.core.private import write_private
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import change
from kfix.heal.execution.context import OpenRun
from kfix.heal.journal.journal import held_back
from kfix.heal.model.plan import Phase, Plan, PlannedStep
from kfix.heal.plan.planfile import to_plain

_ACTION = "throttle.rate"
_LARGEST = 1 << 16
_FILE = "throttle.request.json"
#: Bytes per second.
LEAST_RATE = 1000
# A broker reports its old throttle until it has learned the new one, a moment after the change was accepted.
_SEEN_WITHIN, _POLL_EVERY = 5.0, 0.1


def request_throttle(run: Path, plan: Plan, rate: str, by: str) -> int:
    """Leaves the request in the run's folder; returns the rate in bytes per second.

    Raises UsageError if the run throttles nothing, `rate` is no rate or below 1 KB/s, or the file cannot be written.
    """
    if not any(step.action == _ACTION for step in plan.steps):
        raise UsageError(f"{run.name} sets no throttle, so there is none to change")
    try:
        found = coerce(ArgKind.RATE, rate)
    except ValueError as error:
        raise UsageError(str(error)) from error
    assert isinstance(found, int)
    if found < LEAST_RATE:
        raise UsageError(
            f"{rate} is too low: the copies would never finish; the minimum is {LEAST_RATE} bytes per second"
        )
    try:
        write_private(run / _FILE, json.dumps({"rate": found, "by": by}).encode())
    except OSError as error:
        raise UsageError(f"{run / _FILE}: cannot write: {error.strerror}") from error
    return found


def poll(run: OpenRun) -> None:
    path = run.folder.path / _FILE
    if not path.exists():
        return
    asked = _read(path)
    with suppress(OSError):
        path.unlink()
    if asked is None:
        run.journal.write("note", text=f"{_FILE}: not a request made by kfix; ignored")
        return
    rate, by = asked
    if any(s.phase is Phase.ALWAYS for s in run.progress.issued):
        run.journal.write("note", text=f"{_FILE}: ignored: the throttles were already removed")
        return
    if not run.passage.may_rethrottle:
        run.journal.write("note", text=f"{_FILE}: ignored: the site's policy requires approval for each throttle")
        return
    try:
        run.passage.refuse_while_cut()
    except RefusedError as error:
        run.journal.write("note", text=f"{_FILE}: ignored: {error}")
        return
    throttled = {s.id for s in run.progress.issued} | run.progress.done
    steps = [step for step in run.plan.steps if step.action == _ACTION and step.id in throttled]
    for step in steps:
        _change(run, step, step.args.with_(rate=rate), by)
    until = run.clock.monotonic() + _SEEN_WITHIN
    for step in steps:
        _wait_seen(run, step.args.with_(rate=rate), until)
        change.record_new_facts(run, step)


def _change(run: OpenRun, step: PlannedStep, args: Args, by: str) -> None:
    with held_back():
        run.journal.write("throttle.intent", step=step.id, args=to_plain(args), by=by)
        change.note(run, step, {}, args.number("rate"))
        result = run.passage.send(_ACTION, args)
        run.journal.write(
            "throttle.result", step=step.id, ok=result.accepted, error="" if result.accepted else result.name
        )


def _wait_seen(run: OpenRun, args: Args, until: float) -> None:
    while ACTIONS[_ACTION].probe(args, {}, run.reader) is not ActionStatus.DONE and run.clock.monotonic() < until:
        run.clock.sleep(_POLL_EVERY)


def _read(path: Path) -> tuple[int, str] | None:
    try:
        data = json.loads(read_file(path, _LARGEST))
        rate = coerce(ArgKind.RATE, data["rate"])
    except (OSError, UsageError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return (rate, str(data.get("by", "?"))) if isinstance(rate, int) and rate >= LEAST_RATE else None
