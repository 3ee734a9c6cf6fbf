"""What becomes of replicas that are still being copied when a run is interrupted: a person decides, or nothing changes.

Kafka goes on copying whatever becomes of the run. Taking the throttle off would let the copies take the network from
the clients, so that this is done only where a person asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from kfix.actions.base import NotApplicable
from kfix.actions.registry import ALL as ACTIONS
from kfix.errors import KfixError, UnreachableError
from kfix.harmless import lines
from kfix.model.plan.args import Args
from kfix.model.plan.plan import OnFailure, Phase, Plan, PlannedStep, Undo
from kfix.probes.facts import FactReader
from kfix.runbook.execution.components import Components
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.execution.guards import Guards
from kfix.runbook.execution.restore import names, still_moving
from kfix.runbook.journal.interrupts import Terminated
from kfix.runbook.plan.steps import StepShape, build_step
from kfix.runbook.safety.drift import PlannedFacts
from kfix.runbook.safety.outcomes import Stop

#: Whoever has walked away leaves things as they are.
ANSWER_SECONDS = 60.0
_TRIES = 3
_CANCEL_SECONDS = 120.0


class Way(StrEnum):
    """What the interrupted run does about copies that are under way."""

    LEAVE = "leave"
    CANCEL = "cancel"
    UNTHROTTLED = "unthrottled"


@dataclass(frozen=True, slots=True)
class InterruptedMoves:
    """Moves of the run that are under way. `unknown` says why that could not be read, and `steps` are all then."""

    steps: tuple[PlannedStep, ...]
    unknown: str = ""


def moves_of(progress: RunProgress, crew: Components) -> InterruptedMoves:
    try:
        return InterruptedMoves(still_moving(progress, crew.watch.reader))
    except UnreachableError as error:
        moves = tuple(s for s in progress.issued if s.action == "reassign.move" and s.id not in progress.verified)
        return InterruptedMoves(moves, str(error))


def choose(crew: Components, moves: InterruptedMoves, end: KeyboardInterrupt, *, throttled: bool) -> Way:
    """No answer, the end of input, 60 seconds, a second Ctrl-C, and nobody to ask: the copies are left as they are."""
    why = "nobody to ask"
    way = Way.LEAVE
    if crew.person.human.interactive and not isinstance(end, Terminated):
        try:
            way, why = _ask(crew, moves, throttled=throttled)
        except KeyboardInterrupt:
            why = "a second interrupt"
    partitions = sorted({s.args.text("partition") for s in moves.steps})
    crew.journal.write("interrupted", partitions=partitions, throttled=throttled, choice=way.value, why=why)
    return way


def _ask(crew: Components, moves: InterruptedMoves, *, throttled: bool) -> tuple[Way, str]:
    may_cancel = crew.change.passage.may_cancel
    ways = {"": Way.LEAVE}
    ways |= {"c": Way.CANCEL} if may_cancel else {}
    ways |= {"u": Way.UNTHROTTLED} if throttled else {}
    crew.person.human.show(_screen(moves, throttled=throttled, may_cancel=may_cancel))
    stay = "leave them throttled" if throttled else "leave them"
    prompt = f"[Enter] {stay}"
    prompt += "  [c] cancel them" if may_cancel else ""
    prompt += "  [u] let them run unthrottled > " if throttled else " > "
    for _ in range(_TRIES):
        said = crew.person.ask(prompt, lambda answer: answer.lower() in {"c", "u"}, ANSWER_SECONDS)
        if said is None:
            return Way.LEAVE, "no answer"
        if said.lower() in ways:
            return ways[said.lower()], "answered"
        crew.person.human.show("that is no answer")
    return Way.LEAVE, "no answer"


def _screen(moves: InterruptedMoves, *, throttled: bool, may_cancel: bool) -> str:
    copies = f"INTERRUPTED   Kafka goes on copying replicas of {names(moves.steps)}, whatever becomes of this run"
    if moves.unknown:
        copies = f"INTERRUPTED   whether replicas of {names(moves.steps)} are still being copied could not be read"
    how, after = (" throttled", " and removes the throttles then") if throttled else ("", "")
    rows = [
        copies,
        f"Enter     leaves the copies{how}; resume waits for them{after}",
    ]
    if may_cancel:
        rows.append("c         cancels them: partitions keep the replicas they had, the copies begun are thrown away")
    else:
        rows.append("The site's policy does not let them be cancelled here; rollback plans that, behind its gate.")
    rows += ["u         removes the throttles: the copies take all the network they can get"] if throttled else []
    rows.append(f"Nothing typed for {ANSWER_SECONDS:g} s, or a second Ctrl-C, is the same as Enter.")
    return lines(*rows)


def cancel(plan: Plan, crew: Components, progress: RunProgress, moves: Iterable[PlannedStep]) -> list[str]:
    """Cancels each move, with guards, intent and result as for every change. What could not be cancelled, and why."""
    failed = []
    for move in moves:
        try:
            crew.change.passage.refuse_while_cut()
            for step in _back(plan, crew, move):
                _carry_out(crew, step)
                progress.undoing.add(step.id)
                progress.undone[move.id] = progress.undone.get(move.id, step.what)
        except (Stop, NotApplicable, KfixError) as reason:
            failed.append(f"{move.args.text('partition')}: {str(reason).partition(chr(10))[0]}")
    return failed


def _back(plan: Plan, crew: Components, move: PlannedStep) -> Iterator[PlannedStep]:
    """The cancel, and where Kafka forgot the order of the replicas, the order that they had."""
    reader = crew.watch.reader
    tp = Args({"partition": move.args.text("partition")})
    args = ACTIONS["reassign.cancel"].freeze(tp, FactReader(reader))
    yield _step(plan, move, Undo("reassign.cancel", args), "undo")
    if move.inverse is None:
        return
    order = move.inverse.args.with_(before=args.brokers("original"), bytes=0)
    if order.brokers("replicas") != order.brokers("before"):
        yield _step(plan, move, Undo(move.inverse.action, order), "order")


def _step(plan: Plan, move: PlannedStep, undo: Undo, what: str) -> PlannedStep:
    shape = StepShape(
        id=f"{what}-{move.id}",
        why=f"takes back step {move.id}, which was interrupted",
        verify_timeout=_CANCEL_SECONDS,
        phase=Phase.ALWAYS,
        on_failure=OnFailure.CONTINUE,
    )
    return build_step(shape, undo.action, undo.args, plan.cluster.name)


def _carry_out(crew: Components, step: PlannedStep) -> None:
    """The facts of this moment are what the cancel rests on; they are read again right before its intent."""
    read = FactReader(crew.watch.reader)
    guards = Guards(crew.watch.reader, crew.journal, crew.samples, PlannedFacts(read(key) for key in step.pre))
    change = replace(crew.change, guards=guards, unmoved={})
    result = change.make(step, crew.watch.right_before)
    if not result.accepted and not result.unknown:
        raise KfixError(f"the cluster refused it: {result.name} {result.message}".strip())
    for unproved in crew.apply.settle.wait([step]):
        raise KfixError(f"it did not take ({unproved.verdict}): {unproved.text}")
    change.move_on(step)
