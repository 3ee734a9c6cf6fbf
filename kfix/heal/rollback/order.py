"""Moves that an interrupted run cancelled itself, and the order of replicas that it did not restore.

After a cancel Kafka keeps the former replicas but not their order (docs/facts/operations.md), so another replica may
become the preferred leader. A run that dies between the cancel and the step that restores the order leaves it so.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.ports import ClusterReader
from kfix.heal.journal.replay import UNDO, Replay
from kfix.heal.model.plan import Plan, PlannedStep


def order_left(plan: Plan, known: Replay, reader: ClusterReader) -> Iterator[tuple[PlannedStep, tuple[int, ...]]]:
    """Yields each such move with the replicas in their present order, read from the cluster."""
    for move in plan.steps:
        if UNDO + move.id not in known.done or move.inverse is None:
            continue
        assignment = reader.partition(move.args.tp()).assignment
        if assignment is None or assignment.adding or assignment.removing:
            continue
        now, before = assignment.replicas, move.inverse.args.brokers("replicas")
        if now != before and {*now} == {*before}:
            yield move, now
