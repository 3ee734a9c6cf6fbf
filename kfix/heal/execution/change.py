"""One change: guards and facts read again, the intent on disk, the call, its result on disk. It is never issued twice.

If the answer to a call is lost, the cluster is read to find out whether the change was made. On KRaft one that is not
seen may still arrive: a frozen controller carries it out when it resumes, and a broker forwards it again to another one
(docs/facts/kraft.md). So it stays unknown, and is looked up again when its batch has settled, before another step is
sent, and by a resumed run until `LATE_SECONDS` after the intent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import guards
from kfix.heal.execution.context import OpenRun
from kfix.heal.journal.journal import held_back
from kfix.heal.journal.replay import Record, surely_since
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import PlannedStep
from kfix.heal.plan.planfile import to_plain
from kfix.heal.safety.outcomes import Stop

# Facts older than this are read again before a change is sent.
FRESH_SECONDS = 1.0
_READ_AGAIN_SECONDS = 5.0

# Kafka's codes after which nothing was changed: not sent or fenced off (1), unknown or invalid (3, 17, 35, 39, 40, 42),
# not allowed (29, 30, 31, 44), not the controller (41), nothing to do or no one to elect (60, 80, 83, 84, 85). Of the
# coordinator: too large (12, 28), still loading (14), a group with members (25, 68, 86) or unknown (69), an unknown or
# replaced member (25, 82). Of the quorum: another cluster's (104), a second or no such voter (126, 127). Any other
# answer, such as 7 REQUEST_TIMED_OUT, may come after the change.
_SURELY_NOT_DONE = frozenset(
    {1, 3, 12, 14, 17, 25, 28, 29, 30, 31, 35, 39, 40, 41, 42, 44, 60, 68, 69, 80, 82, 83, 84, 85, 86, 104, 126, 127}
)

#: A broker of KRaft repeats a change that it forwards to the active controller for 60 s (BrokerServer.scala).
LATE_SECONDS = 65.0
#: A controller that has just resumed carries out what was waiting for it within this time.
_AWAKE_SECONDS = 2.0

_SEEN = frozenset({ActionStatus.DONE, ActionStatus.IN_PROGRESS})


def make(run: OpenRun, step: PlannedStep) -> ChangeResult:
    """Sends the change and returns Kafka's answer. Raises `Stop` if something that must hold right before does not."""
    checked_at = run.clock.monotonic()
    guards.check(run, step)
    now = guards.recheck(run, step)
    guards.right_before(run, step)
    with held_back():
        run.journal.write(
            "step.intent",
            step=step.id,
            action=step.action,
            args=to_plain(step.args),
            pre_image=values_of(now),
            inverse=to_plain(step.inverse),
        )
        run.progress.begun = True
        if run.clock.monotonic() - checked_at > FRESH_SECONDS:
            _check_again(run, step)
        note(run, step, now)
        result = _call(run, step)
        run.journal.write(
            "step.result",
            step=step.id,
            ok=result.accepted,
            code=result.code,
            error="" if result.accepted else f"{result.name} {result.message}".strip(),
            changed=None if result.unknown else result.accepted,
        )
    if result.unknown:
        _find_out(run, step, now)
    if result.accepted or result.unknown:
        record_new_facts(run, step)
    else:
        run.unmoved.pop(step.id, None)
    return result


def adopt(run: OpenRun, step: PlannedStep, before: Mapping[str, Fact], sent: Record, late: float) -> ActionStatus:
    """Reads how far a change got whose run was killed, or ended without its answer.

    `sent` is the record of its intent: it may have been sent then, and may arrive until `late` seconds after it. A
    reading that fails right after the kill is made again for some seconds; the change is not.
    """
    found = found_late(run, lambda: ACTIONS[step.action].probe(step.args, before, run.reader), sent, late)
    run.journal.write("step.probe", step=step.id, progress=found.value)
    if found in _SEEN:
        _adopted(run, step)
        run.progress.issued.append(step)
        record_new_facts(run, step)
    elif found is ActionStatus.NOT_STARTED:
        error = f"not made: it is not seen {late:g} s after it may have been sent" if late else "not made"
        run.journal.write("step.result", step=step.id, ok=False, code=None, error=error, changed=False)
    return found


def found_late(run: OpenRun, read: Callable[[], ActionStatus], sent: Record, late: float) -> ActionStatus:
    """Reads again while the change is unknown, for some seconds, or not made and may still arrive."""
    began = run.clock.monotonic()
    left = max(late - surely_since(sent, run.clock), _AWAKE_SECONDS) if late else 0.0
    found, said = read(), False
    while True:
        waited = run.clock.monotonic() - began
        if found in _SEEN or waited >= (_READ_AGAIN_SECONDS if found is ActionStatus.UNKNOWN else left):
            return found
        if left - waited > _READ_AGAIN_SECONDS and not said:
            said = True
            run.journal.write("note", text=f"a change that was sent may still arrive for {left - waited:.0f} s")
        run.clock.sleep(FRESH_SECONDS)
        found = read()


def look_again(run: OpenRun, step: PlannedStep) -> None:
    """Looks up a change whose answer was lost, after a while: it may have arrived."""
    if step.id not in run.lost:
        return
    step, before = run.lost[step.id]
    found = ACTIONS[step.action].probe(step.args, before, run.reader)
    run.journal.write("step.probe", step=step.id, progress=found.value)
    if found in _SEEN:
        del run.lost[step.id]
        _adopted(run, step)


def note(run: OpenRun, step: PlannedStep, before: Mapping[str, Fact], rate: int | None = None) -> None:
    """Remembers a change whose new facts are not in the journal yet.

    `rate` (bytes per second) is the throttle that was set during the run.
    """
    run.unmoved[step.id] = (step, before, rate)


def catch_up(run: OpenRun) -> None:
    """Journals the new facts of changes that are visible now but were not recorded when they were made."""
    for step, before, rate in list(run.unmoved.values()):
        tried = [step.args] if rate is None else [step.args.with_(rate=rate), step.args]
        if any(ACTIONS[step.action].probe(args, before, run.reader) in _SEEN for args in tried):
            record_new_facts(run, step)


def record_new_facts(run: OpenRun, step: PlannedStep) -> None:
    """Journals the facts as this run's own change left them. Later steps expect these values."""
    try:
        now = run.baseline.refresh(ACTIONS[step.action].writes(step.args), run.reader)
    except UnreachableError as error:
        # Later steps then see that the old facts have changed, and stop.
        run.journal.write("note", step=step.id, text=f"the facts could not be read after the change: {error}")
        return
    run.unmoved.pop(step.id, None)
    run.journal.write("facts.updated", step=step.id, facts=values_of(now))


def _check_again(run: OpenRun, step: PlannedStep) -> None:
    """Checks guards and facts again after a slow broker or disk. If they fail, journals that nothing was sent."""
    try:
        guards.check(run, step)
        guards.recheck(run, step)
        guards.right_before(run, step)
    except Stop:
        run.journal.write("step.result", step=step.id, ok=False, code=None, error="not issued", changed=False)
        raise


def _call(run: OpenRun, step: PlannedStep) -> ChangeResult:
    run.progress.issued.append(step)
    try:
        result = run.passage.send(step.action, step.args)
    except UnreachableError as error:
        result = ChangeResult(-1, "NO_ANSWER", str(error))
    except BaseException:
        # A second Ctrl-C or a bug in kfix: the call may or may not have been sent.
        run.progress.changed[step.id] = f"{step.what} (interrupted: it may or may not have happened)"
        raise
    if not result.accepted and result.code not in _SURELY_NOT_DONE:
        result = ChangeResult(-1, result.name, result.message)
    if result.accepted or result.unknown:
        doubt = "" if result.accepted else " (no answer: it may or may not have happened)"
        run.progress.changed[step.id] = f"{step.what}{doubt}"
    return result


def _find_out(run: OpenRun, step: PlannedStep, before: Mapping[str, Fact]) -> None:
    """Reads from the cluster whether a change without an answer was made. The call is not repeated in any case.

    A change that was made gets a result, so that a rollback reverts it. One that is not seen may still arrive.
    """
    found = ACTIONS[step.action].probe(step.args, before, run.reader)
    run.journal.write("step.probe", step=step.id, progress=found.value)
    if found in _SEEN:
        _adopted(run, step)
    else:
        run.lost[step.id] = (step, before)


def _adopted(run: OpenRun, step: PlannedStep) -> None:
    run.journal.write("step.result", step=step.id, ok=True, code=0, error="", changed=True, adopted=True)
    run.progress.changed[step.id] = step.what


def values_of(facts: Mapping[str, Fact]) -> dict[str, object]:
    return {key: to_plain(fact.value) for key, fact in facts.items()}
