"""The dry run: what would be done, step by step, told from the plan alone. It has no cluster to change."""

from __future__ import annotations

from dataclasses import dataclass, field

from kfix.model.plan import Plan, PlannedStep
from kfix.runbook.walk import walk


@dataclass(slots=True)
class Explain:
    visited: list[tuple[int, PlannedStep]] = field(default_factory=list)

    def visit(self, number: int, step: PlannedStep) -> None:
        self.visited.append((number, step))


def explain(plan: Plan) -> tuple[tuple[int, PlannedStep], ...]:
    """The steps in the order in which they would be tried, with their numbers."""
    reader = Explain()
    walk(plan, reader)
    return tuple(reader.visited)
