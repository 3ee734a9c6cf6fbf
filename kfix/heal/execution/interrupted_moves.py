"""What happens to replicas that are still being copied when a run is interrupted: the operator decides.

Kafka keeps copying after the run has ended. Without a throttle the copies would compete with clients for the network,
so the throttle is removed only if the operator asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from kfix.core.args import Args
from kfix.core.errors import KfixError, UnreachableError
from kfix.core.harmless import lines
from kfix.heal.actions.base import NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.components import Components
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.guards import Guards
from kfix.heal.execution.restore import names, still_moving
from kfix.heal.journal.interrupts import Terminated
from kfix.heal.model.plan import OnFailure, Phase, Plan, PlannedStep, Undo
from kfix.heal.plan.steps import StepShape, build_step
from kfix.heal.probes.facts import FactReader
from kfix.heal.safety.drift import PlannedFacts
from kfix.heal.safety.outcomes import Stop

#: Without an answer within this time (seconds) the copies are left as they are.
ANSWER_SECONDS = 60.0
_TRIES = 3
_CANCEL_SECONDS = 120.0


class Way(StrEnum):
    """What an interrupted run does about copies in progress."""

    LEAVE = "leave"
    CANCEL = "cancel"
    UNTHROTTLED = "unthrottled"


@dataclass(frozen=True, slots=True)
class InterruptedMoves:
    """Moves of the run that are in progress. If that could not be read, `unknown` states why and `steps` holds all."""

    steps: tuple[PlannedStep, ...]
    unknown: str = ""


def moves_of(run: OpenRun) -> InterruptedMoves:
    try:
        return InterruptedMoves(still_moving(run.progress, run.reader))
    except UnreachableError as error:
        moves = tuple(
            s for s in run.progress.issued if s.action == "reassign.move" and s.id not in run.progress.verified
        )
        return InterruptedMoves(moves, str(error))


def choose(components: Components, moves: InterruptedMoves, end: KeyboardInterrupt, *, throttled: bool) -> Way:
    """Asks the operator. Copies are left as they are without an answer: end of input, timeout, Ctrl-C, no terminal."""
    why = "no terminal to ask at"
    way = Way.LEAVE
    if components.person.human.interactive and not isinstance(end, Terminated):
        try:
            way, why = _ask(components, moves, throttled=throttled)
        except KeyboardInterrupt:
            why = "a second interrupt"
    partitions = sorted({s.args.text("partition") for s in moves.steps})
    components.run.journal.write("interrupted", partitions=partitions, throttled=throttled, choice=way.value, why=why)
    return way


def _ask(components: Components, moves: InterruptedMoves, *, throttled: bool) -> tuple[Way, str]:
    may_cancel = components.run.passage.may_cancel
    ways = {"": Way.LEAVE}
    ways |= {"c": Way.CANCEL} if may_cancel else {}
    ways |= {"u": Way.UNTHROTTLED} if throttled else {}
    components.person.human.show(_screen(moves, throttled=throttled, may_cancel=may_cancel))
    stay = "keep copying, throttled" if throttled else "keep copying"
    prompt = f"[Enter] {stay}"
    prompt += "  [c] cancel the moves" if may_cancel else ""
    prompt += "  [u] remove the throttles > " if throttled else " > "
    for _ in range(_TRIES):
        answer = components.person.ask(prompt, lambda text: text.lower() in {"c", "u"}, ANSWER_SECONDS)
        if answer is None:
            return Way.LEAVE, "no answer"
        if answer.lower() in ways:
            return ways[answer.lower()], "answered"
        components.person.human.show("Not a valid answer.")
    return Way.LEAVE, "no answer"


def _screen(moves: InterruptedMoves, *, throttled: bool, may_cancel: bool) -> str:
    copies = f"INTERRUPTED   Kafka is still copying replicas of {names(moves.steps)}, with or without this run"
    if moves.unknown:
        copies = f"INTERRUPTED   it is unknown whether replicas of {names(moves.steps)} are still being copied"
    how, after = (" with their throttles", ", then removes the throttles") if throttled else ("", "")
    rows = [
        copies,
        f"Enter     leaves the copies running{how}; resume waits for them{after}",
    ]
    if may_cancel:
        rows.append("c         cancels the moves: partitions keep the replicas they had, partial copies are deleted")
    else:
        rows.append("The site's policy does not allow cancelling here; rollback plans it, behind its gate.")
    rows += ["u         removes the throttles: the copies use as much bandwidth as they can get"] if throttled else []
    rows.append(f"No answer for {ANSWER_SECONDS:g} s, or a second Ctrl-C, counts as Enter.")
    return lines(*rows)


def cancel(components: Components, moves: Iterable[PlannedStep]) -> list[str]:
    """Cancels each move, with guards, intent and result as for every change.

    Returns the partitions whose move could not be cancelled, each with the reason.
    """
    run, failed = components.run, []
    for move in moves:
        try:
            run.passage.refuse_while_cut()
            for step in _back(run, move):
                _carry_out(components, step)
                run.progress.undoing.add(step.id)
                run.progress.undone[move.id] = run.progress.undone.get(move.id, step.what)
        except (Stop, NotApplicable, KfixError) as reason:
            failed.append(f"{move.args.text('partition')}: {str(reason).partition(chr(10))[0]}")
    return failed


def _back(run: OpenRun, move: PlannedStep) -> Iterator[PlannedStep]:
    """Yields the cancel and, if Kafka does not restore the order of the replicas, a step that does."""
    tp = Args({"partition": move.args.text("partition")})
    args = ACTIONS["reassign.cancel"].freeze(tp, FactReader(run.reader))
    yield _step(run.plan, move, Undo("reassign.cancel", args), "undo")
    if move.inverse is None:
        return
    order = move.inverse.args.with_(before=args.brokers("original"), bytes=0)
    if order.brokers("replicas") != order.brokers("before"):
        yield _step(run.plan, move, Undo(move.inverse.action, order), "order")


def _step(plan: Plan, move: PlannedStep, undo: Undo, what: str) -> PlannedStep:
    shape = StepShape(
        id=f"{what}-{move.id}",
        why=f"reverts step {move.id}, which was interrupted",
        verify_timeout=_CANCEL_SECONDS,
        phase=Phase.ALWAYS,
        on_failure=OnFailure.CONTINUE,
    )
    return build_step(shape, undo.action, undo.args, plan.cluster.name)


def _carry_out(components: Components, step: PlannedStep) -> None:
    """Sends one cancelling step and waits for its effect. It rests on the facts of this moment, not on the plan's."""
    read = FactReader(components.run.reader)
    run = replace(components.run, baseline=PlannedFacts(read(key) for key in step.pre))
    change = replace(components.change, run=run, guards=Guards(run), unmoved={})
    result = change.make(step, components.watch.right_before)
    if not result.accepted and not result.unknown:
        raise KfixError(f"the cluster refused it: {result.name} {result.message}".strip())
    for unproved in components.apply.settle.wait([step]):
        raise KfixError(f"it could not be verified ({unproved.verdict}): {unproved.text}")
    change.look_again(step)
    change.record_new_facts(step)
