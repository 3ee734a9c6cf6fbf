"""Restores, at every end of a run, what it set for its own duration (throttles). Failures are reported by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import Assignment
from kfix.core.wording import some
from kfix.heal.execution.components import Components
from kfix.heal.execution.context import RunProgress
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.probes.assignments import target_of
from kfix.heal.safety.outcomes import Stop

_NAMED = 8


def put_back(components: Components, left_on: list[str], *, patient: bool) -> None:
    """Runs the restoring steps. What could not be restored is added to `left_on`, with the reason.

    With `patient` a first Ctrl-C takes effect only after the remaining steps have run.
    """
    if not components.run.progress.issued:
        return
    steps = components.run.plan.restoring
    left_on += [s.what for s in steps]
    interrupt: KeyboardInterrupt | None = None
    for act in _acts(steps, components, left_on):
        try:
            act()
        except KeyboardInterrupt as first:
            if not patient or interrupt is not None:
                raise
            interrupt = first
            act()
    if interrupt is not None:
        raise interrupt


def _acts(steps: tuple[PlannedStep, ...], components: Components, left_on: list[str]) -> Iterator[Callable[[], None]]:
    progress = components.run.progress
    yield components.change.catch_up

    def put(item: tuple[int, PlannedStep]) -> None:
        number, step = item
        if step in progress.issued:
            # It was sent before a Ctrl-C: its effect is verified, and it is not sent again.
            progress.done.add(step.id)
        why = _why_not(components, number, step)
        left_on.remove(step.what)
        if why:
            left_on.append(f"{step.what} ({why})")
            return
        progress.undoing.add(step.id)
        for found in components.run.plan.steps:
            if found.undone_by(step):
                _undone(progress, found, step.what)

    for item in enumerate(steps, 1):
        yield partial(put, item)


def _why_not(components: Components, number: int, step: PlannedStep) -> str:
    progress = components.run.progress
    refused = len(progress.refused)
    try:
        components.apply.visit(((number, step),))
    except Stop as stop:
        reason = str(stop)
    else:
        reason = progress.refused[-1] if len(progress.refused) > refused else ""
    return reason.partition("\n")[0]


def _undone(progress: RunProgress, step: PlannedStep, words: str) -> None:
    """Notes that a step of this run was reverted. A step that changed nothing is left out."""
    if step.id in progress.changed:
        progress.undone[step.id] = words


def still_moving(progress: RunProgress, reader: ClusterReader) -> tuple[PlannedStep, ...]:
    """Returns the moves of this run that Kafka is still carrying out. Raises UnreachableError.

    A move of the same partition to other brokers belongs to another operator and is left out.
    """
    moves = [s for s in progress.issued if s.action == "reassign.move" and s.id not in progress.undone]
    under_way = reader.reassignments() if moves else {}
    return tuple(s for s in moves if s.args.tp() in under_way and _own(s, under_way[s.args.tp()]))


def _own(step: PlannedStep, move: Assignment) -> bool:
    return target_of(move) == step.args.brokers("replicas")


def names(moves: Iterable[PlannedStep]) -> str:
    found = sorted({step.args.text("partition") for step in moves})
    return some(found, _NAMED)


def copying(moves: Iterable[PlannedStep], resume: str, *, throttled: bool, run: str, over: bool = False) -> str:
    """Describes copies that outlive the run, and the commands that act on them; `resume` is one. `over`: the run was
    aborted.
    """
    now = "throttled" if throttled else "without a throttle"
    if over:
        return f"Kafka is still copying replicas of {names(moves)}, {now}: kfix runbook rollback {run}   cancels it"
    off = f", kfix runbook abort {run} --reason TEXT   only removes the throttles" if throttled else ""
    return (
        f"Kafka is still copying replicas of {names(moves)}, {now}: "
        f"{resume}   waits for that, kfix runbook rollback {run}   cancels it{off}"
    )


def rollback_command(plan: Plan, run: str, progress: RunProgress, moving: Iterable[PlannedStep]) -> str:
    """Returns the command that reverts the remaining changes, or "" if none of them can be reverted."""
    stays = progress.stays
    steps = [s for s in plan.steps if s.id in stays and s.inverse is not None]
    under_way = {s.id for s in moving}
    if not steps:
        return ""
    kept = all(s.inverse is not None and s.inverse.keep and s.id not in under_way for s in steps)
    return f"kfix runbook rollback {run}{' --all' if kept else ''}"
