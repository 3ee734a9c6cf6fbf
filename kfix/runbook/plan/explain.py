"""The dry run: what would be done, step by step, told from the plan alone. It has no cluster to change."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.model.plan.plan import Phase, Plan, PlannedStep
from kfix.runbook.plan.walk import Batch, walk


@dataclass(slots=True)
class Explain:
    visited: list[tuple[int, PlannedStep]] = field(default_factory=list)

    def visit(self, batch: Batch) -> None:
        self.visited += batch


def explain(plan: Plan) -> tuple[tuple[int, PlannedStep], ...]:
    """The steps in the order in which they would be tried, with their numbers."""
    reader = Explain()
    for phase in (Phase.MAIN, Phase.ALWAYS, Phase.AFTER_GOAL):
        walk(plan, reader, phase)
    return tuple(reader.visited)
