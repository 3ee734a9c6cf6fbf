"""Restores, at every end of a run, what it set for its own duration, and ends moves that an interrupted run began."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from kfix.core.args import Args
from kfix.core.errors import KfixError, UnreachableError
from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import Assignment
from kfix.core.wording import some
from kfix.heal.actions.base import NotApplicable
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import apply, change, settle
from kfix.heal.execution.context import OpenRun, RunProgress
from kfix.heal.journal.journal import Terminated
from kfix.heal.model.plan import OnFailure, Phase, Plan, PlannedStep, Undo
from kfix.heal.plan.steps import build_step
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.moves import target_of
from kfix.heal.safety.outcomes import Stop
from kfix.heal.safety.refusals import PlannedFacts

_NAMED = 8


def put_back(run: OpenRun, *, patient: bool = True) -> None:
    """Runs the restoring steps. What could not be restored is added to `left_on`, with the reason; it raises nothing.

    With `patient` a first Ctrl-C takes effect only after the remaining steps have run.
    """
    if not run.progress.issued:
        return
    run.progress.left_on += [s.what for s in run.plan.restoring]
    interrupt: KeyboardInterrupt | None = None
    for act in _acts(run):
        try:
            act()
        except KeyboardInterrupt as first:
            if not patient or interrupt is not None:
                raise
            interrupt = first
            act()
    if interrupt is not None:
        raise interrupt


def _acts(run: OpenRun) -> Iterator[Callable[[], None]]:
    progress, left_on = run.progress, run.progress.left_on
    yield partial(change.catch_up, run)

    def put(item: tuple[int, PlannedStep]) -> None:
        number, step = item
        if step in progress.issued:
            # It was sent before a Ctrl-C: its effect is verified, and it is not sent again.
            progress.done.add(step.id)
        why = _why_not(run, number, step)
        left_on.remove(step.what)
        if why:
            left_on.append(f"{step.what} ({why})")
            return
        progress.undoing.add(step.id)
        for found in run.plan.steps:
            if found.undone_by(step):
                _undone(progress, found, step.what)

    for item in enumerate(run.plan.restoring, 1):
        yield partial(put, item)


def _why_not(run: OpenRun, number: int, step: PlannedStep) -> str:
    progress = run.progress
    refused = len(progress.refused)
    try:
        apply.visit(run, ((number, step),))
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


# What happens to replicas that are still being copied when a run is interrupted: the operator decides.
#
# Kafka keeps copying after the run has ended. Without a throttle the copies would compete with clients for the network,
# so the throttle is removed only if the operator asks for it.

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


def choose(run: OpenRun, moves: InterruptedMoves, end: KeyboardInterrupt, *, throttled: bool) -> Way:
    """Asks the operator. Copies are left as they are without an answer: end of input, timeout, Ctrl-C, no terminal."""
    why = "no terminal to ask at"
    way = Way.LEAVE
    if run.context.human.interactive and not isinstance(end, Terminated):
        try:
            way, why = _ask(run, moves, throttled=throttled)
        except KeyboardInterrupt:
            why = "a second interrupt"
    partitions = sorted({s.args.text("partition") for s in moves.steps})
    run.journal.write("interrupted", partitions=partitions, throttled=throttled, choice=way.value, why=why)
    return way


def _ask(run: OpenRun, moves: InterruptedMoves, *, throttled: bool) -> tuple[Way, str]:
    may_cancel = run.passage.may_cancel
    ways = {"": Way.LEAVE}
    ways |= {"c": Way.CANCEL} if may_cancel else {}
    ways |= {"u": Way.UNTHROTTLED} if throttled else {}
    run.context.human.show(_screen(moves, throttled=throttled, may_cancel=may_cancel))
    stay = "keep copying, throttled" if throttled else "keep copying"
    prompt = f"[Enter] {stay}"
    prompt += "  [c] cancel the moves" if may_cancel else ""
    prompt += "  [u] remove the throttles > " if throttled else " > "
    for _ in range(_TRIES):
        answer = run.gatekeeper.reader.ask(prompt, lambda text: text.lower() in {"c", "u"}, ANSWER_SECONDS)
        if answer is None:
            return Way.LEAVE, "no answer"
        if answer.lower() in ways:
            return ways[answer.lower()], "answered"
        run.context.human.show("Not a valid answer.")
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


def cancel(run: OpenRun, moves: Iterable[PlannedStep]) -> list[str]:
    """Cancels each move, with guards, intent and result as for every change.

    Returns the partitions whose move could not be cancelled, each with the reason.
    """
    failed = []
    for move in moves:
        try:
            run.passage.refuse_while_cut()
            for step in _back(run, move):
                _carry_out(run, step)
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
    return build_step(
        f"{what}-{move.id}",
        undo.action,
        undo.args,
        plan.cluster.name,
        why=f"reverts step {move.id}, which was interrupted",
        verify_timeout=_CANCEL_SECONDS,
        phase=Phase.ALWAYS,
        on_failure=OnFailure.CONTINUE,
    )


def _carry_out(run: OpenRun, step: PlannedStep) -> None:
    """Sends one cancelling step and waits for its effect. It rests on the facts of this moment, not on the plan's."""
    read = FactReader(run.reader)
    now = replace(run, baseline=PlannedFacts(read(key) for key in step.pre), unmoved={})
    result = change.make(now, step)
    if not result.accepted and not result.unknown:
        raise KfixError(f"the cluster refused it: {result.name} {result.message}".strip())
    for unproved in settle.wait(run, [step]):
        raise KfixError(f"it could not be verified ({unproved.verdict}): {unproved.text}")
    change.look_again(now, step)
    change.record_new_facts(now, step)
