"""A partition's replicas, and whether they are being moved, as the record and the controller report them.

The controller drops a finished move from its list a moment before or after the record is rewritten: a move is under
way as long as either of them lists it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.model.facts import show_value


def standing(reader: ClusterReader, tp: TopicPartition) -> Assignment | None:
    """Returns the assignment, None where the partition does not exist.

    Raises UnreachableError where the record or the list of moves cannot be read.
    """
    return moved(reader.recorded(tp), reader.reassignments().get(tp))


def moved(reading: PartitionReading, move: Assignment | None) -> Assignment | None:
    recorded = reading.assignment
    if recorded is None and reading.errors:
        raise UnreachableError(f"{reading.tp}: the assignment could not be read: {'; '.join(reading.errors)}")
    return recorded if recorded is None or move is None or under_way(recorded) else move


def under_way(assignment: Assignment) -> bool:
    return bool(assignment.adding or assignment.removing)


def target_of(assignment: Assignment) -> tuple[int, ...]:
    """Returns the replicas after the move."""
    return tuple(b for b in assignment.replicas if b not in assignment.removing)


def original_of(assignment: Assignment) -> tuple[int, ...]:
    """Returns the replicas after a cancel. Kafka does not keep their order (ReplicaAssignment.originReplicas)."""
    return tuple(b for b in assignment.replicas if b not in assignment.adding)


def ids(brokers: Iterable[int]) -> str:
    return show_value(tuple(brokers))


def move_words(assignment: Assignment | None) -> str:
    if assignment is None:
        return "the partition does not exist"
    if not under_way(assignment):
        return f"replicas {ids(assignment.replicas)}, no move under way"
    parts = (("adding", assignment.adding), ("removing", assignment.removing))
    doing = ", ".join(f"{word} {ids(brokers)}" for word, brokers in parts if brokers)
    return f"moving from {ids(original_of(assignment))} to {ids(target_of(assignment))}: {doing}"
