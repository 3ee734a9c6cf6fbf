"""What runs in every ending: what a run set for its own time is put back. What cannot be is told by name, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kfix.model.cluster.snapshot import Assignment
from kfix.model.plan.plan import Phase, Plan, PlannedStep
from kfix.ports import ClusterReader
from kfix.probes.assignments import target_of
from kfix.runbook.execution.components import Components
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.safety.outcomes import Stop

_NAMED = 8


def put_back(plan: Plan, crew: Components, progress: RunProgress, left_on: list[str], *, patient: bool) -> None:
    """`left_on` gets what is not put back. `patient`: a first Ctrl-C waits until the rest is put back, too."""
    if not progress.issued:
        return
    steps = [s for s in plan.steps if s.phase is Phase.ALWAYS]
    left_on += [s.what for s in steps]
    interrupt: KeyboardInterrupt | None = None
    for act in _acts(plan, steps, crew, progress, left_on):
        try:
            act()
        except KeyboardInterrupt as first:
            if not patient or interrupt is not None:
                raise
            interrupt = first
            act()
    if interrupt is not None:
        raise interrupt


def _acts(
    plan: Plan, steps: list[PlannedStep], crew: Components, progress: RunProgress, left_on: list[str]
) -> Iterator[Callable[[], None]]:
    yield crew.change.catch_up

    def put(item: tuple[int, PlannedStep]) -> None:
        number, step = item
        if step in progress.issued:
            # It was sent, and a Ctrl-C came before it was seen: it is waited for, never sent again.
            progress.done.add(step.id)
        why = _why_not(crew, progress, number, step)
        left_on.remove(step.what)
        if why:
            left_on.append(f"{step.what} ({why})")
            return
        progress.undoing.add(step.id)
        for found in plan.steps:
            if found.inverse is not None and (found.inverse.action, found.inverse.args) == (step.action, step.args):
                _undone(progress, found, step.what)

    for item in enumerate(steps, 1):
        yield partial(put, item)


def _why_not(crew: Components, progress: RunProgress, number: int, step: PlannedStep) -> str:
    refused = len(progress.refused)
    try:
        crew.apply.visit(((number, step),))
    except Stop as stop:
        said = str(stop)
    else:
        said = progress.refused[-1] if len(progress.refused) > refused else ""
    return said.partition("\n")[0]


def _undone(progress: RunProgress, step: PlannedStep, words: str) -> None:
    """Only what this run, or the one that it goes on with, had changed."""
    if any(text.startswith(f"{step.id}: ") for text in progress.changed):
        progress.undone[step.id] = words


def still_moving(progress: RunProgress, reader: ClusterReader) -> tuple[PlannedStep, ...]:
    """Moves of this run with which Kafka goes on after the run has ended. Raises `UnreachableError`.

    A move to anywhere else is somebody else's.
    """
    moves = [s for s in progress.issued if s.action == "reassign.move" and s.id not in progress.undone]
    under_way = reader.reassignments() if moves else {}
    return tuple(s for s in moves if s.args.tp() in under_way and _own(s, under_way[s.args.tp()]))


def _own(step: PlannedStep, move: Assignment) -> bool:
    return target_of(move) == step.args.brokers("replicas")


def names(moves: Iterable[PlannedStep]) -> str:
    found = sorted({step.args.text("partition") for step in moves})
    return ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")


def copying(moves: Iterable[PlannedStep], *, throttled: bool, run: str, over: bool = False) -> str:
    """What is true after the end of the run, and what changes it. `over`: the run was aborted, and is not resumed."""
    now = "throttled" if throttled else "without a throttle"
    if over:
        return f"Kafka goes on copying replicas of {names(moves)}, {now}: kfix runbook rollback {run}   cancels it"
    off = f", kfix runbook abort {run} --reason TEXT   only removes the throttles" if throttled else ""
    return (
        f"Kafka goes on copying replicas of {names(moves)}, {now}: "
        f"kfix runbook resume {run}   waits for that, kfix runbook rollback {run}   cancels it{off}"
    )


def way_back(plan: Plan, run: str, progress: RunProgress, moving: Iterable[PlannedStep]) -> str:
    """The command that takes back what stays changed; "" where nothing of it can be taken back."""
    stays = {text.partition(": ")[0] for text in progress.standing}
    steps = [s for s in plan.steps if s.id in stays and s.inverse is not None]
    under_way = {s.id for s in moving}
    if not steps:
        return ""
    kept = all(s.inverse is not None and s.inverse.keep and s.id not in under_way for s in steps)
    return f"kfix runbook rollback {run}{' --all' if kept else ''}"
