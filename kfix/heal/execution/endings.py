"""How a run leaves the cluster: what is restored, what could not be restored, and what Kafka is still copying."""

from contextlib import suppress

from kfix.core.errors import KfixError, UnreachableError
from kfix.core.run import Aborted
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.restore import Way, cancel, choose, copying, moves_of, put_back, rollback_command, still_moving
from kfix.heal.hints import plan_again
from kfix.heal.journal.journal import JournalError
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop, to_error


def aborted(run: OpenRun) -> Aborted:
    progress = run.progress
    rollback = rollback_command(run.plan, run.id, progress, progress.moving)
    return Aborted(run.folder.id, progress.standing, progress.put_back, progress.under_way, rollback)


def error_of(run: OpenRun, stop: Stop) -> KfixError:
    progress = run.progress
    if isinstance(stop, StalePlan):
        stop = Stop(stop.outcome, str(stop), plan_again(run.plan, run.context.at))
    return to_error(
        stop,
        changed=progress.standing,
        run=run.folder.id,
        at=run.context.at,
        resume=run.resume,
        left=() if progress.on_purpose else tuple(progress.left_on),
        put_back=progress.put_back,
        under_way=progress.under_way,
        rollback=rollback_command(run.plan, run.id, progress, progress.moving),
    )


def write_end(run: OpenRun, outcome: Outcome, exit_code: int, why: str) -> None:
    """Journals the end of the run and why. An end that cannot be recorded is still reported to the caller."""
    progress = run.progress
    with suppress(JournalError, KeyboardInterrupt):
        run.journal.write(
            "run.end",
            outcome=outcome.value,
            exit=exit_code,
            why=why,
            changed=list(progress.standing),
            put_back=list(progress.put_back),
            left=progress.left_on,
            under_way=sorted({s.args.text("partition") for s in progress.moving}),
        )


def interrupted(run: OpenRun, end: KeyboardInterrupt) -> None:
    """Ends an interrupted run. Copies in progress keep their throttle unless the operator decides otherwise."""
    progress = run.progress
    throttles = run.plan.restoring if progress.issued else ()
    # A second Ctrl-C may come at any time from here on, while the throttles are still set.
    progress.left_on = [s.what for s in throttles]
    moves = moves_of(run)
    if not moves.steps:
        progress.left_on = []
        put_back(run, patient=False)
        return
    progress.on_purpose, progress.moving = True, moves.steps
    progress.under_way = copying(moves.steps, run.resume, throttled=bool(throttles), run=run.id)
    way = choose(run, moves, end, throttled=bool(throttles))
    # The copies may have finished while the operator was deciding.
    moves = moves_of(run)
    failed = cancel(run, moves.steps) if way is Way.CANCEL else []
    if way is Way.UNTHROTTLED or not moves_of(run).steps:
        progress.left_on, progress.on_purpose = [], False
        put_back(run, patient=False)
    find_moves(run)
    if failed:
        progress.under_way = "; ".join(filter(None, (progress.under_way, f"not cancelled: {'; '.join(failed)}")))


def find_moves(run: OpenRun, *, over: bool = False) -> None:
    """Finds out what Kafka is still copying after the run, and if it is throttled. `over`: the run was aborted."""
    progress = run.progress
    try:
        progress.moving = still_moving(progress, run.reader)
    except UnreachableError as error:
        on = ", so the throttles stay set" if progress.on_purpose and progress.left_on else ""
        progress.under_way = f"it is unknown whether replicas are still being copied ({error}){on}"
        return
    words = copying(progress.moving, run.resume, throttled=bool(progress.left_on), run=run.id, over=over)
    progress.under_way = words if progress.moving else ""
