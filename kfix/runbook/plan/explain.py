"""The dry run: lists the steps of a plan in the order of execution, from the plan alone, without a cluster."""

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
    """Returns (number, step) in the order of execution."""
    reader = Explain()
    for phase in (Phase.MAIN, Phase.ALWAYS, Phase.AFTER_GOAL):
        walk(plan, reader, phase)
    return tuple(reader.visited)
