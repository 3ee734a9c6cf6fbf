"""What a resumed run takes over from its journal: changes made, intents without a result, steps done by hand."""

from collections.abc import Mapping

from kfix.core.snapshot.snapshot import Mode
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import change
from kfix.heal.execution.change import LATE_SECONDS
from kfix.heal.execution.context import OpenRun
from kfix.heal.journal.replay import UNDO, Record, Replay
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import PlannedStep
from kfix.heal.rollback import order_left
from kfix.heal.safety.outcomes import Outcome, Stop
from kfix.heal.safety.proof import sample

#: How far the cancel of a move has come, by how far the move has. A move that is done was never cancelled.
_REVERTED = {
    ActionStatus.NOT_STARTED: ActionStatus.DONE,
    ActionStatus.IN_PROGRESS: ActionStatus.NOT_STARTED,
    ActionStatus.DONE: ActionStatus.NOT_STARTED,
}


def take_over(run: OpenRun, before: Replay, did: tuple[str, ...], *, adopt: bool) -> None:
    """Rebuilds the progress of a run from its journal: changes, open intents and the steps `did` by hand.

    With `adopt` False, for an abort, a change in doubt does not stop the run. Raises `Stop` otherwise.
    """
    steps = {step.id: step for step in run.plan.steps}
    run.progress.begun = True
    run.progress.done |= {name for name in before.done if name in steps}
    run.progress.verified |= before.verified
    for name in before.done:
        if name in steps:
            run.progress.changed[name] = steps[name].what
            run.progress.issued.append(steps[name])
    for name, image in before.unmoved.items():
        if name in steps and name not in did:
            change.note(run, steps[name], image, before.rates.get(name))
    change.catch_up(run)
    _cancels(run, steps, before)
    for name, image in before.open.items():
        if name in steps and name not in did:
            _adopt(run, steps[name], image, before.sent[name], ending=not adopt)
    for name in did:
        _did(run, steps, name, doubt=name in before.open)


def _cancels(run: OpenRun, steps: Mapping[str, PlannedStep], before: Replay) -> None:
    """Takes over the moves that the interrupted run cancelled: those in doubt, and those left in another order."""
    for name in before.open:
        if (move := steps.get(name.removeprefix(UNDO))) is not None and name.startswith(UNDO):
            _cancelled(run, name, move, before.sent[name])
    for move, now in order_left(run.plan, before, run.reader):
        run.progress.changed[move.id] = f"replicas of {move.args.text('partition')} are in the order {list(now)}"


def _late(run: OpenRun, step: PlannedStep) -> float:
    """Returns for how long (seconds) a change may still arrive: brokers of KRaft forward and repeat it, and a command
    of the site continues.
    """
    action = ACTIONS[step.action]
    late = action.outlives or (run.plan.cluster.mode is Mode.KRAFT and action.forwarded)
    return LATE_SECONDS if late else 0.0


def _cancelled(run: OpenRun, name: str, move: PlannedStep, sent: Record) -> None:
    """Finds out whether a move was cancelled whose cancel, the step `name`, has no recorded result.

    A move that was cancelled looks like one that was never started, and one that was not like one under way.
    """

    def read() -> ActionStatus:
        found = ACTIONS[move.action].probe(move.args, {}, run.reader)
        return _REVERTED.get(found, found)

    found = change.found_late(run, read, sent, _late(run, move))
    run.journal.write("step.probe", step=name, progress=found.value)
    if found is not ActionStatus.DONE or move.id not in run.progress.done:
        return
    run.journal.write("step.result", step=name, ok=True, code=0, error="", changed=True, adopted=True)
    run.progress.done.discard(move.id)
    run.progress.verified.discard(move.id)
    run.progress.changed.pop(move.id, None)
    run.progress.issued.remove(move)
    change.record_new_facts(run, move)


def _adopt(run: OpenRun, step: PlannedStep, image: Mapping[str, Fact], sent: Record, *, ending: bool) -> None:
    """Settles an intent without a result. With `ending` a change in doubt counts as issued and stops nothing."""
    found = change.adopt(run, step, image, sent, _late(run, step))
    if found in (ActionStatus.DONE, ActionStatus.IN_PROGRESS):
        run.progress.done.add(step.id)
    elif found is ActionStatus.UNKNOWN:
        _in_doubt(run, step)
        if ending:
            run.progress.issued.append(step)
            return
        raise Stop(
            Outcome.UNKNOWN,
            f"step {step.id}: the cluster's present state does not show whether the change was made, and it will "
            "not be sent again",
            f"check {step.target}; if the change was made: {run.resume} --did {step.id}; if not: {run.abort}",
        )


def _in_doubt(run: OpenRun, step: PlannedStep) -> None:
    run.progress.changed[step.id] = f"{step.what} (it may or may not have happened)"


def _did(run: OpenRun, steps: Mapping[str, PlannedStep], name: str, *, doubt: bool) -> None:
    """Accepts a step done by hand if the step's own checks confirm it. Raises `Stop` otherwise.

    `doubt`: this run may have made the change itself.
    """
    step = steps.get(name)
    if step is None:
        raise Stop(Outcome.REFUSED, f"--did {name}: the plan has no such step; its steps are {', '.join(steps)}")
    if doubt:
        _in_doubt(run, step)
    for call, answer in sample(step.verify, run.reader):
        run.samples.record(call, answer, step=name, part="verify")
        if not answer.passed:
            text = f"--did {name}: {call}: {answer.words}"
            raise Stop(Outcome.REFUSED, text, f"check {step.target}; or end the run: {run.abort}")
    run.journal.write("step.done_by_hand", step=name, text=step.what)
    if doubt:
        run.progress.changed[name] = step.what
    run.progress.done.add(name)
    run.progress.verified.add(name)
    change.record_new_facts(run, step)
