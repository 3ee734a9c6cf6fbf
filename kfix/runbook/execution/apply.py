"""Carries out a plan's steps in order: needed or not, guards, gate, change, and what it was to bring about.

Knows no planner and no template: what runs is what the plan says, literally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kfix.actions.registry import ALL as ACTIONS
from kfix.harmless import lines
from kfix.model.plan.answer import Verdict
from kfix.model.plan.plan import CheckCall, OnFailure, Phase, Plan, PlannedStep
from kfix.ports import Clock, ClusterReader
from kfix.probes.registry import ask
from kfix.runbook.execution.asking import Asking
from kfix.runbook.execution.change import Change
from kfix.runbook.execution.context import RunProgress
from kfix.runbook.execution.guards import Guards
from kfix.runbook.execution.settle import Settle, Unproved
from kfix.runbook.execution.watch import Watch
from kfix.runbook.journal.journal import Journal, Samples, utc
from kfix.runbook.plan.walk import Batch
from kfix.runbook.safety.outcomes import Outcome, Stop


@dataclass(frozen=True, slots=True)
class Apply:
    plan: Plan
    reader: ClusterReader
    clock: Clock
    journal: Journal
    samples: Samples
    progress: RunProgress
    guards: Guards
    asking: Asking
    change: Change
    watch: Watch
    settle: Settle

    def visit(self, batch: Batch) -> None:
        """All steps of a batch are issued, then waited for together."""
        issued: list[PlannedStep] = []
        for number, step in batch:
            if step.id in self.progress.done:
                if step.id not in self.progress.verified:
                    issued.append(step)
            elif self._left_or_begun(number, step):
                issued.append(step)
        if not issued:
            return
        failures = self.settle.wait(issued)
        for step in issued:
            # A move has gone through states of its own; what later steps rest on is what it came to.
            if ACTIONS[step.action].changes:
                self.change.move_on(step)
        for failure in failures:
            self._failed(failure)
        pause = max(step.pause for step in issued)
        if pause:
            until = utc(self.clock.now() + pause)
            self.journal.write("pause.batch", until=until, seconds_left=round(pause))
            self.clock.sleep(pause)

    def _left_or_begun(self, number: int, step: PlannedStep) -> bool:
        try:
            return self._begin(number, step)
        except Stop as stop:
            if step.on_failure is not OnFailure.CONTINUE or stop.outcome is not Outcome.REFUSED:
                raise
            self.journal.write("step.refused", step=step.id, text=str(stop))
            self.progress.refused.append(str(stop))
            return False

    def _begin(self, number: int, step: PlannedStep) -> bool:
        """Whether there is something to wait for."""
        if self._not_needed(step):
            return False
        self.guards.check(step)
        changes = ACTIONS[step.action].changes
        if changes:
            self.watch.before_change(step)
        asked = not self.asking.open_without_asking(step)
        if asked and not self.asking.gate(number, step):
            return False
        if changes and step.phase is Phase.MAIN:
            asked |= self.asking.phrases_first()
        # A person takes their time, and the cluster may have healed meanwhile.
        if asked and self._not_needed(step):
            return False
        if not changes:
            until = utc(self.clock.now() + step.verify_timeout)
            left = round(step.verify_timeout)
            self.journal.write("step.waiting", step=step.id, what=step.what, until=until, seconds_left=left)
            return True
        self.watch.before_change(step)
        result = self.change.make(step, self.watch.right_before)
        if result.accepted or result.unknown:
            return True
        if not self._passes(step.verify, step, "verify"):
            said = f"the cluster refused it: {result.name} {result.message}".strip()
            self._failed(Unproved(step, Verdict.FAIL, f"{said}; nothing was changed by it"))
        return False

    def _not_needed(self, step: PlannedStep) -> bool:
        """The goal is met, or what this step is for is there already: the rung before it took, and the rest follows."""
        if step.phase is Phase.MAIN and (self.progress.goal_met or self._passes(self.plan.goal.checks, step, "goal")):
            self.progress.goal_met = True
            self.journal.write("step.skipped", step=step.id, why="goal_met")
            return True
        if self._passes(step.unless, step, "unless"):
            self.journal.write("step.skipped", step=step.id, why="not_needed")
            return True
        return False

    def _passes(self, checks: Sequence[CheckCall], step: PlannedStep, part: str) -> bool:
        """The first that does not pass answers: of fifty partitions the others need not be read."""
        for call in checks:
            answer = ask(call, self.reader)
            self.samples.told(call, answer, step=step.id, part=part)
            if not answer.passed:
                return False
        return bool(checks)

    def _failed(self, failure: Unproved) -> None:
        step, text = failure.step, lines(f"step {failure.step.id} did not take ({failure.verdict}): ") + failure.text
        match step.on_failure:
            case OnFailure.NEXT if step.phase is Phase.MAIN:
                return
            case OnFailure.CONTINUE:
                self.progress.refused.append(text)
            case OnFailure.ASK:
                if not self.asking.go_on(step, text):
                    raise Stop(Outcome.STEP_FAILED, text)
            case OnFailure.ROLLBACK:
                raise Stop(Outcome.ROLL_BACK, text)
            case _:
                raise Stop(Outcome.STEP_FAILED, text)
