"""What a resumed run takes over from its journal: changes made, intents without a result, steps done by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.snapshot.snapshot import Mode
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.change import LATE_SECONDS
from kfix.heal.execution.components import Components
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


@dataclass(frozen=True, slots=True)
class TakenOver:
    """Rebuilds the progress of a run from its journal. `resume` is the command that continues it, `abort` ends it."""

    components: Components
    resume: str
    abort: str

    @property
    def run(self) -> OpenRun:
        return self.components.run

    def take(self, before: Replay, did: tuple[str, ...], *, adopt: bool) -> None:
        """Takes over changes, open intents and the steps `did` by hand.

        With `adopt` False, for an abort, a change in doubt does not stop the run. Raises `Stop` otherwise.
        """
        steps = {step.id: step for step in self.run.plan.steps}
        self.run.progress.begun = True
        self.run.progress.done |= {name for name in before.done if name in steps}
        self.run.progress.verified |= before.verified
        for name in before.done:
            if name in steps:
                self.run.progress.changed[name] = steps[name].what
                self.run.progress.issued.append(steps[name])
        for name, image in before.unmoved.items():
            if name in steps and name not in did:
                self.components.change.note(steps[name], image, before.rates.get(name))
        self.components.change.catch_up()
        self._cancels(steps, before)
        for name, image in before.open.items():
            if name in steps and name not in did:
                self._adopt(steps[name], image, before.sent[name], ending=not adopt)
        for name in did:
            self._did(steps, name, doubt=name in before.open)

    def _cancels(self, steps: Mapping[str, PlannedStep], before: Replay) -> None:
        """Takes over the moves that the interrupted run cancelled: those in doubt, and those left in another order."""
        for name in before.open:
            if (move := steps.get(name.removeprefix(UNDO))) is not None and name.startswith(UNDO):
                self._cancelled(name, move, before.sent[name])
        for move, now in order_left(self.run.plan, before, self.run.reader):
            self.run.progress.changed[move.id] = (
                f"replicas of {move.args.text('partition')} are in the order {list(now)}"
            )

    @property
    def _late(self) -> float:
        """Returns for how long (seconds) a change may still arrive: only brokers of KRaft forward and repeat it."""
        return LATE_SECONDS if self.run.plan.cluster.mode is Mode.KRAFT else 0.0

    def _cancelled(self, name: str, move: PlannedStep, sent: Record) -> None:
        """Finds out whether a move was cancelled whose cancel, the step `name`, has no recorded result.

        A move that was cancelled looks like one that was never started, and one that was not like one under way.
        """

        def read() -> ActionStatus:
            found = ACTIONS[move.action].probe(move.args, {}, self.run.reader)
            return _REVERTED.get(found, found)

        found = self.components.change.found_late(read, sent, self._late)
        self.run.journal.write("step.probe", step=name, progress=found.value)
        if found is not ActionStatus.DONE or move.id not in self.run.progress.done:
            return
        self.run.journal.write("step.result", step=name, ok=True, code=0, error="", changed=True, adopted=True)
        self.run.progress.done.discard(move.id)
        self.run.progress.verified.discard(move.id)
        self.run.progress.changed.pop(move.id, None)
        self.run.progress.issued.remove(move)
        self.components.change.record_new_facts(move)

    def _adopt(self, step: PlannedStep, image: Mapping[str, Fact], sent: Record, *, ending: bool) -> None:
        """Settles an intent without a result. With `ending` a change in doubt counts as issued and stops nothing."""
        found = self.components.change.adopt(step, image, sent, self._late)
        if found in (ActionStatus.DONE, ActionStatus.IN_PROGRESS):
            self.run.progress.done.add(step.id)
        elif found is ActionStatus.UNKNOWN:
            self._in_doubt(step)
            if ending:
                self.run.progress.issued.append(step)
                return
            raise Stop(
                Outcome.UNKNOWN,
                f"step {step.id}: the cluster's present state does not show whether the change was made, and it will "
                "not be sent again",
                f"check {step.target}; if the change was made: {self.resume} --did {step.id}; if not: {self.abort}",
            )

    def _in_doubt(self, step: PlannedStep) -> None:
        self.run.progress.changed[step.id] = f"{step.what} (it may or may not have happened)"

    def _did(self, steps: Mapping[str, PlannedStep], name: str, *, doubt: bool) -> None:
        """Accepts a step done by hand if the step's own checks confirm it. Raises `Stop` otherwise.

        `doubt`: this run may have made the change itself.
        """
        step = steps.get(name)
        if step is None:
            raise Stop(Outcome.REFUSED, f"--did {name}: the plan has no such step; its steps are {', '.join(steps)}")
        if doubt:
            self._in_doubt(step)
        for call, answer in sample(step.verify, self.run.reader):
            self.run.samples.record(call, answer, step=name, part="verify")
            if not answer.passed:
                text = f"--did {name}: {call}: {answer.words}"
                raise Stop(Outcome.REFUSED, text, f"check {step.target}; or end the run: {self.abort}")
        self.run.journal.write("step.done_by_hand", step=name, text=step.what)
        if doubt:
            self.run.progress.changed[name] = step.what
        self.run.progress.done.add(name)
        self.run.progress.verified.add(name)
        self.components.change.record_new_facts(step)
