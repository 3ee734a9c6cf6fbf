"""Walks over the steps of a plan: explaining a plan and carrying it out visit the same steps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kfix.heal.model.plan import Phase, Plan, PlannedStep

Batch = tuple[tuple[int, PlannedStep], ...]


def walk(plan: Plan, phase: Phase) -> Iterator[Batch]:
    """Yields the steps of a phase: a batch together, other steps one by one, numbered as in the whole plan."""
    return (batch for batch in batches(plan) if batch[0][1].phase is phase)


def batches(plan: Plan) -> tuple[Batch, ...]:
    numbered = enumerate(plan.steps, 1)
    groups = groupby(numbered, key=lambda item: (item[1].phase, item[1].batch or -item[0]))
    return tuple(tuple(group) for _, group in groups)
