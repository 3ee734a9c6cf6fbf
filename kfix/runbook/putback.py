"""What runs in every ending: what a run set for its own time is put back. What cannot be is told by name, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kfix.errors import UnreachableError
from kfix.model.plan import Phase, Plan, PlannedStep
from kfix.ports import ClusterReader
from kfix.runbook.crew import Crew
from kfix.runbook.scene import Progressed
from kfix.runbook.stops import Stop


def put_back(plan: Plan, crew: Crew, progress: Progressed, left_on: list[str], *, patient: bool) -> None:
    """`left_on` gets what is not put back. `patient`: a first Ctrl-C waits until the rest is put back, too."""
    if not progress.issued:
        return
    steps = [s for s in plan.steps if s.phase is Phase.ALWAYS]
    left_on += [s.what for s in steps]
    interrupt: KeyboardInterrupt | None = None
    for act in _acts(steps, crew, progress, left_on):
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
    steps: list[PlannedStep], crew: Crew, progress: Progressed, left_on: list[str]
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

    for item in enumerate(steps, 1):
        yield partial(put, item)


def _why_not(crew: Crew, progress: Progressed, number: int, step: PlannedStep) -> str:
    refused = len(progress.refused)
    try:
        crew.apply.visit(((number, step),))
    except Stop as stop:
        said = str(stop)
    else:
        said = progress.refused[-1] if len(progress.refused) > refused else ""
    return said.partition("\n")[0]


def still_moving(progress: Progressed, reader: ClusterReader) -> str:
    """Copies that Kafka goes on making after the run has ended, now without a throttle."""
    moves = [s for s in progress.issued if s.action == "reassign.move"]
    if not moves:
        return ""
    try:
        under_way = reader.reassignments()
    except UnreachableError as error:
        return f"whether replicas are still being copied is not known: {error}"
    names = sorted({s.args.text("partition") for s in moves if s.args.tp() in under_way})
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"replicas of {shown} are still being copied (rollback cancels that)" if names else ""
