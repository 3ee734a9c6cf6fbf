"""Carries out the steps of a plan in order: is the step needed, guards, gate, change, verification.

It knows no planner and no template: it executes what the plan states, literally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kfix.core.harmless import lines
from kfix.core.wording import utc_iso
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution.asking import Asking
from kfix.heal.execution.change import Change
from kfix.heal.execution.context import OpenRun
from kfix.heal.execution.guards import Guards
from kfix.heal.execution.settle import Settle, Unproved
from kfix.heal.execution.watch import Watch
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import CheckCall, OnFailure, Phase, PlannedStep
from kfix.heal.plan.steps import Batch
from kfix.heal.probes.registry import ask
from kfix.heal.safety.outcomes import Outcome, Stop


@dataclass(frozen=True, slots=True)
class Apply:
    run: OpenRun
    guards: Guards
    asking: Asking
    change: Change
    watch: Watch
    settle: Settle

    def visit(self, batch: Batch) -> None:
        """Issues all steps of a batch, then waits for all of them together."""
        issued: list[PlannedStep] = []
        for number, step in batch:
            if step.id in self.run.progress.done:
                if step.id not in self.run.progress.verified:
                    issued.append(step)
            elif self._begin_or_skip(number, step):
                issued.append(step)
        if not issued:
            return
        failures = self.settle.wait(issued)
        for step in issued:
            # A move passes through intermediate states; later steps rest on its final one.
            if ACTIONS[step.action].changes:
                self.change.look_again(step)
                self.change.record_new_facts(step)
        for failure in failures:
            self._failed(failure)
        pause = max(step.pause for step in issued)
        if pause:
            until = utc_iso(self.run.clock.now() + pause)
            self.run.journal.write("pause.batch", until=until, seconds_left=round(pause))
            self.run.clock.sleep(pause)

    def _begin_or_skip(self, number: int, step: PlannedStep) -> bool:
        try:
            return self._begin(number, step)
        except Stop as stop:
            if step.on_failure is not OnFailure.CONTINUE or stop.outcome is not Outcome.REFUSED:
                raise
            self.run.journal.write("step.refused", step=step.id, text=str(stop))
            self.run.progress.refused.append(str(stop))
            return False

    def _begin(self, number: int, step: PlannedStep) -> bool:
        """Returns whether there is something to wait for."""
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
        # The answer may have taken minutes, and the cluster may have healed meanwhile.
        if asked and self._not_needed(step):
            return False
        if not changes:
            until = utc_iso(self.run.clock.now() + step.verify_timeout)
            left = round(step.verify_timeout)
            self.run.journal.write("step.waiting", step=step.id, what=step.what, until=until, seconds_left=left)
            return True
        self.watch.before_change(step)
        result = self.change.make(step, self.watch.right_before)
        if result.accepted or result.unknown:
            return True
        if not self._passes(step.verify, step, "verify"):
            refusal = f"the cluster refused it: {result.name} {result.message}".strip()
            self._failed(Unproved(step, Verdict.FAIL, f"{refusal}; this step changed nothing"))
        return False

    def _not_needed(self, step: PlannedStep) -> bool:
        """Returns whether the goal is met already, or the effect of this step is already there."""
        if step.phase is Phase.MAIN and (
            self.run.progress.goal_met or self._passes(self.run.plan.goal.checks, step, "goal")
        ):
            self.run.progress.goal_met = True
            self.run.journal.write("step.skipped", step=step.id, why="goal_met")
            return True
        if self._passes(step.unless, step, "unless"):
            self.run.journal.write("step.skipped", step=step.id, why="not_needed")
            return True
        return False

    def _passes(self, checks: Sequence[CheckCall], step: PlannedStep, part: str) -> bool:
        """Stops at the first check that does not pass: of fifty partitions the others need not be read."""
        for call in checks:
            answer = ask(call, self.run.reader)
            self.run.samples.record(call, answer, step=step.id, part=part)
            if not answer.passed:
                return False
        return bool(checks)

    def _failed(self, failure: Unproved) -> None:
        step, text = (
            failure.step,
            lines(f"step {failure.step.id} could not be verified ({failure.verdict}): ") + failure.text,
        )
        match step.on_failure:
            case OnFailure.NEXT if step.phase is Phase.MAIN:
                return
            case OnFailure.CONTINUE:
                self.run.progress.refused.append(text)
            case OnFailure.ASK:
                if not self.asking.confirm_continue(step, text):
                    raise Stop(Outcome.STEP_FAILED, text)
            case OnFailure.ROLLBACK:
                raise Stop(Outcome.ROLL_BACK, text)
            case _:
                raise Stop(Outcome.STEP_FAILED, text)
