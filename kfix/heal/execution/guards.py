"""What must hold right before a change: the step's guards, and the facts that the plan rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.errors import UnreachableError
from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.heal.journal.journal import Journal, Samples
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import Plan, PlannedStep
from kfix.heal.plan.codec import to_plain
from kfix.heal.probes.registry import ask
from kfix.heal.safety.drift import PlannedFacts, table
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop


@dataclass(frozen=True, slots=True)
class Guards:
    reader: ClusterReader
    journal: Journal
    samples: Samples
    baseline: PlannedFacts

    def preconditions(self, plan: Plan) -> None:
        """Raises `Stop` if a precondition of the plan does not pass. Preconditions hold until the first change."""
        for call in plan.preconditions:
            answer = ask(call, self.reader)
            self.samples.record(call, answer, part="precondition")
            if not answer.passed:
                text = f"precondition {call}: {answer.words}"
                raise Stop(Outcome.REFUSED, text)

    def check(self, step: PlannedStep) -> None:
        """Raises `Stop` if a guard of the step does not pass."""
        for call in step.require:
            answer = ask(call, self.reader)
            self.samples.record(call, answer, step=step.id, part="require")
            if not answer.passed:
                text = f"step {step.id} needs {call}: {answer.words}"
                raise Stop(Outcome.REFUSED, text)

    def recheck(self, step: PlannedStep) -> Mapping[str, Fact]:
        """Returns the step's facts as they are now. Raises `Stop` if one has changed or cannot be read."""
        try:
            now, drifts = self.baseline.compare(step.pre, self.reader)
        except UnreachableError as error:
            raise Stop(Outcome.REFUSED, f"step {step.id}: its facts could not be read again: {error}") from error
        for drift in drifts:
            self.journal.write(
                "facts.recheck", step=step.id, key=drift.key, was=to_plain(drift.was), is_=to_plain(drift.is_)
            )
        if drifts:
            text = lines(
                f"step {step.id}: the cluster has changed since the plan was made", table(drifts), "the plan is stale"
            )
            raise StalePlan(text)
        return now
