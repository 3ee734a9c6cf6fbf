"""What is checked before every change and while a run waits: lock, time limits, invariants, network.

A broken invariant pauses or ends the run. An invariant that cannot be read counts as broken.
"""

from collections.abc import Iterable

from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.wording import utc_iso
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import guards, rethrottle
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.waiting import Wait, report, report_copies
from kfix.heal.model.answer import Answer
from kfix.heal.model.plan import Invariant, OnBreach, Phase, PlannedStep
from kfix.heal.probes.registry import ask
from kfix.heal.safety.outcomes import Outcome, Stop

# A pause that lasts longer than this (seconds) ends the run.
PAUSE_SECONDS = 600.0
UNREADABLE_SECONDS = 60.0
_POLL_EVERY = 1.0


def before_change(run: OpenRun, step: PlannedStep) -> None:
    """Makes all checks before a change: once before the question, and again after the answer. Raises `Stop`.

    For a restoring step only the lock is checked, because it must run however the run ended.
    """
    guards.right_before(run, step)
    if step.phase is Phase.ALWAYS:
        return
    if not run.progress.changed:
        guards.preconditions(run)
    invariants(run)
    _network(run, step)
    _concurrent(run, step)


def poll(run: OpenRun, waiting: Iterable[PlannedStep], wait: Wait | None = None) -> None:
    """Checks between two polls of a wait; the invariants at most once a second. Raises `Stop`."""
    steps = tuple(waiting)
    guards.lock_is_held(run)
    if steps and all(step.phase is Phase.ALWAYS for step in steps):
        return
    guards.within_duration(run)
    if run.clock.monotonic() - run.polls.checked_at >= _POLL_EVERY:
        invariants(run)
    if steps:
        rethrottle.poll(run)
    report_copies(run, steps, wait)


def _network(run: OpenRun, step: PlannedStep) -> None:
    try:
        run.passage.before_change(step)
    except RefusedError as error:
        run.journal.write("invariant", check="network_is_whole", observed=str(error), action=OnBreach.STOP)
        raise Stop(Outcome.BREACH, str(error), error.hint) from error


def _concurrent(run: OpenRun, step: PlannedStep) -> None:
    cap = run.plan.caps.max_concurrent_moves
    if cap is None or not step.estimate.replicas_moved:
        return
    moving = _moving(run)
    if moving >= cap:
        run.journal.write("limit.hit", limit="max_concurrent_moves", moving=moving, cap=cap)
        text = f"partitions being moved: {moving}; the limit is {cap} at once (limits.max_concurrent_moves)"
        raise Stop(Outcome.LIMIT, text)


def _moving(run: OpenRun) -> int:
    """Returns how many partitions are being moved. Waits 60 s for an answer, as during a controller election."""
    since = run.clock.monotonic()
    while True:
        try:
            return len(run.reader.reassignments())
        except UnreachableError as error:
            if run.clock.monotonic() - since > UNREADABLE_SECONDS:
                text = f"the number of partitions being moved cannot be read: {error}"
                raise Stop(Outcome.UNREACHABLE, text) from error
            seconds = run.clock.monotonic() - since
            left = max(0.0, UNREADABLE_SECONDS - seconds)
            wanted = "a controller that lists the reassignments"
            report(run, Wait("", "the controller", str(error), wanted, seconds, left))
        guards.lock_is_held(run)
        run.clock.sleep(_POLL_EVERY)


def invariants(run: OpenRun) -> None:
    run.polls.checked_at = run.clock.monotonic()
    for invariant in run.plan.invariants:
        answer = _ask(run, invariant)
        if answer.passed:
            continue
        _breach(run, invariant, answer)


def _ask(run: OpenRun, invariant: Invariant) -> Answer:
    answer = ask(invariant.call, run.reader)
    run.samples.record(invariant.call, answer, part="invariant")
    return answer


def _breach(run: OpenRun, invariant: Invariant, answer: Answer) -> None:
    words = f"{invariant.call}: {answer.words}"
    run.journal.write("invariant", check=str(invariant.call), observed=answer.observed, action=invariant.on_breach)
    if invariant.on_breach is OnBreach.STOP:
        raise Stop(Outcome.BREACH, f"an invariant no longer holds: {words}")
    since = run.clock.monotonic()
    until = utc_iso(run.clock.now() + PAUSE_SECONDS)
    run.journal.write("pause", why=words, until=until, seconds_left=round(PAUSE_SECONDS))
    while not (answer := _ask(run, invariant)).passed:
        seconds = run.clock.monotonic() - since
        report(run, Wait.of(invariant.call, answer, seconds=seconds, limit=PAUSE_SECONDS))
        if seconds > PAUSE_SECONDS:
            raise Stop(Outcome.BREACH, f"an invariant has not held for {PAUSE_SECONDS:g} s: {words}")
        guards.lock_is_held(run)
        guards.within_duration(run)
        run.clock.sleep(_POLL_EVERY)
    run.journal.write("resume", seconds=round(run.clock.monotonic() - since, 1))


def hopeless(step: PlannedStep, reader: ClusterReader) -> str:
    """Returns why waiting for this step is pointless, or "" if it is not or that is unknown."""
    for call in ACTIONS[step.action].hopeless(step.args):
        answer = ask(call, reader)
        if answer.verdict == "fail":
            return f"{call}: {answer.observed}; expected: {answer.wanted}"
    return ""
