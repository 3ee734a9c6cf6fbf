"""Walks over the steps of a plan: explaining a plan and carrying it out visit the same steps."""

from __future__ import annotations

from itertools import groupby
from typing import Protocol

from kfix.model.plan.plan import Phase, Plan, PlannedStep

Batch = tuple[tuple[int, PlannedStep], ...]


class Visitor(Protocol):
    def visit(self, batch: Batch) -> None: ...


def walk(plan: Plan, visitor: Visitor, *phases: Phase) -> None:
    """Visits the steps of these phases: a batch together, other steps one by one, numbered as in the whole plan."""
    for batch in batches(plan):
        if batch[0][1].phase in phases:
            visitor.visit(batch)


def batches(plan: Plan) -> tuple[Batch, ...]:
    numbered = enumerate(plan.steps, 1)
    groups = groupby(numbered, key=lambda item: (item[1].phase, item[1].batch or -item[0]))
    return tuple(tuple(group) for _, group in groups)
