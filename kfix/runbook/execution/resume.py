"""What a resumed run takes over from its journal: what was changed, what nobody recorded, what was done by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.actions.base import ActionStatus
from kfix.model.plan.facts import Fact
from kfix.model.plan.plan import Plan, PlannedStep
from kfix.ports import ClusterReader
from kfix.runbook.execution.components import Components
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.journal.replay import Replay
from kfix.runbook.safety.outcomes import Outcome, Stop
from kfix.runbook.safety.proof import sample


@dataclass(frozen=True, slots=True)
class TakenOver:
    """`abort` is the command that ends the run instead."""

    plan: Plan
    run: str
    reader: ClusterReader
    progress: RunProgress
    abort: str

    def take(self, crew: Components, before: Replay, did: tuple[str, ...], *, adopt: bool) -> None:
        """`adopt` False: for an ending, what nobody can tell does not stop it."""
        steps = {step.id: step for step in self.plan.steps}
        self.progress.begun = True
        self.progress.done |= {name for name in before.done if name in steps}
        self.progress.verified |= before.verified
        for name in before.done:
            if name in steps:
                self.progress.changed.append(f"{name}: {steps[name].what}")
                self.progress.issued.append(steps[name])
        for name, image in before.unmoved.items():
            if name in steps and name not in did:
                crew.change.note(steps[name], image, before.rates.get(name))
        crew.change.catch_up()
        for name, image in before.open.items():
            if name in steps and name not in did:
                self._adopt(crew, steps[name], image, ending=not adopt)
        for name in did:
            self._did(crew, steps, name)

    def _adopt(self, crew: Components, step: PlannedStep, image: Mapping[str, Fact], *, ending: bool) -> None:
        """`ending`: what nobody can tell does not stop it, and what always runs is tried all the same."""
        found = crew.change.adopt(step, image)
        if found in (ActionStatus.DONE, ActionStatus.IN_PROGRESS):
            self.progress.done.add(step.id)
        elif found is ActionStatus.UNKNOWN:
            self.progress.changed.append(f"{step.id}: {step.what} (it may or may not have happened)")
            if ending:
                self.progress.issued.append(step)
                return
            raise Stop(
                Outcome.UNKNOWN,
                f"step {step.id}: whether it was done cannot be told from the cluster as it is now, and it is not "
                "issued again",
                f"look at {step.target}; where it was done: kfix runbook resume {self.run} --did {step.id}; "
                f"else: {self.abort}",
            )

    def _did(self, crew: Components, steps: Mapping[str, PlannedStep], name: str) -> None:
        """Done by hand is believed when the step's own checks see it."""
        step = steps.get(name)
        if step is None:
            raise Stop(Outcome.REFUSED, f"--did {name}: the plan has no such step; it has {', '.join(steps)}")
        for call, answer in sample(step.verify, self.reader):
            crew.samples.told(call, answer, step=name, part="verify")
            if not answer.passed:
                text = f"--did {name}: {call}: {answer.verdict}: {answer.observed}; wanted: {answer.wanted}"
                raise Stop(Outcome.REFUSED, text, f"look at {step.target}; or end the run: {self.abort}")
        crew.journal.write("step.operator_did", step=name, text=step.what)
        self.progress.done.add(name)
        self.progress.verified.add(name)
        crew.change.move_on(step)
