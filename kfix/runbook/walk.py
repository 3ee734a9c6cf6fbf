"""One walk over a plan's steps for every reader of it: to explain a plan and to carry it out visit the same steps."""

from __future__ import annotations

from typing import Protocol

from kfix.model.plan import Plan, PlannedStep


class Visitor(Protocol):
    def visit(self, number: int, step: PlannedStep) -> None: ...


def walk(plan: Plan, visitor: Visitor) -> None:
    for number, step in enumerate(plan.steps, 1):
        visitor.visit(number, step)
