"""What must hold right before a change: the step's guards, and the facts that the plan rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.errors import UnreachableError
from kfix.core.harmless import lines
from kfix.heal.execution.context import OpenRun
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import PlannedStep
from kfix.heal.plan.planfile import to_plain
from kfix.heal.probes.registry import ask
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop
from kfix.heal.safety.refusals import table


@dataclass(frozen=True, slots=True)
class Guards:
    run: OpenRun

    def preconditions(self) -> None:
        """Raises `Stop` if a precondition of the plan does not pass. Preconditions hold until the first change."""
        for call in self.run.plan.preconditions:
            answer = ask(call, self.run.reader)
            self.run.samples.record(call, answer, part="precondition")
            if not answer.passed:
                text = f"precondition {call}: {answer.words}"
                raise Stop(Outcome.REFUSED, text)

    def check(self, step: PlannedStep) -> None:
        """Raises `Stop` if a guard of the step does not pass."""
        for call in step.require:
            answer = ask(call, self.run.reader)
            self.run.samples.record(call, answer, step=step.id, part="require")
            if not answer.passed:
                text = f"step {step.id} needs {call}: {answer.words}"
                raise Stop(Outcome.REFUSED, text)

    def recheck(self, step: PlannedStep) -> Mapping[str, Fact]:
        """Returns the step's facts as they are now. Raises `Stop` if one has changed or cannot be read."""
        try:
            now, drifts = self.run.baseline.compare(step.pre, self.run.reader)
        except UnreachableError as error:
            raise Stop(Outcome.REFUSED, f"step {step.id}: its facts could not be read again: {error}") from error
        for drift in drifts:
            self.run.journal.write(
                "facts.recheck", step=step.id, key=drift.key, was=to_plain(drift.was), is_=to_plain(drift.is_)
            )
        if drifts:
            text = lines(
                f"step {step.id}: the cluster has changed since the plan was made", table(drifts), "the plan is stale"
            )
            raise StalePlan(text)
        return now
