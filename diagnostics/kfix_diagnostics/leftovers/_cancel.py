"""Whether a reassignment can be cancelled, by the rule of the runbook cancel-reassignment (docs/facts/kraft.md)."""

from kfix.core.derive.casefile import CaseFile
from kfix.core.snapshot.snapshot import Assignment, TopicPartition


def origin(move: Assignment) -> tuple[int, ...]:
    """Returns the replicas from before the reassignment."""
    return tuple(b for b in move.replicas if b not in move.adding)


def origin_in_sync(tp: TopicPartition, case: CaseFile) -> bool:
    """Returns whether one of the original replicas is alive and in sync: otherwise a cancel leaves no leader."""
    before = origin(case.assignment(tp))
    return bool(set(before) & set(case.isr(tp)) - set(case.away(before)))
