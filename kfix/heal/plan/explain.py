"""The dry run: lists the steps of a plan in the order of execution, from the plan alone, without a cluster."""

from __future__ import annotations

from kfix.heal.model.plan import Phase, Plan, PlannedStep
from kfix.heal.plan.walk import walk


def explain(plan: Plan) -> tuple[tuple[int, PlannedStep], ...]:
    """Returns (number, step) in the order of execution."""
    phases = (Phase.MAIN, Phase.ALWAYS, Phase.AFTER_GOAL)
    return tuple(item for phase in phases for batch in walk(plan, phase) for item in batch)
