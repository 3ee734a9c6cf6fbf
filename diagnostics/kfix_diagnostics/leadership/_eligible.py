"""Partitions without a leader that an eligible replica may lead: KFX119 reports them, KFX103 and KFX104 the others.

Of the others it may be unknown (`_empty_isr`).
"""

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import TopicPartition


def waits_for(tp: TopicPartition, case: CaseFile) -> EligibleLeaders | None:
    """Returns who may lead the partition without data loss, None if it has an ISR, or if no source knows."""
    quorum = case.snapshot.quorum
    found = None if quorum is None else quorum.eligible.get(tp)
    if found is None or case.isr(tp) or strayed(tp, case) or not (found.replicas or found.last_known):
        return None
    return found


def strayed(tp: TopicPartition, case: CaseFile) -> tuple[int, ...]:
    """Returns the last known leaders that are no replicas of the partition, on which a registration fails (KFX120)."""
    quorum, replicas = case.snapshot.quorum, case.assignment(tp).replicas
    found = None if quorum is None else quorum.eligible.get(tp)
    return () if found is None or not replicas else tuple(b for b in found.last_known if b not in replicas)


def not_read(tp: TopicPartition, case: CaseFile) -> bool:
    """Returns whether the partition may have eligible replicas that no source shows: an empty ISR is of Kafka 4."""
    quorum = case.snapshot.quorum
    if not case.kraft or case.isr(tp):
        return False
    return quorum is None or (quorum.elr is not False and tp not in quorum.eligible)


def forgotten(rows: Rows, case: CaseFile) -> Rows:
    """Returns the partitions of KRaft that have no ISR, and no replica that is eligible to lead."""
    return [row for row in without_eligible(rows, case) if case.kraft and not case.isr(row.tp)]


def with_isr(rows: Rows, case: CaseFile) -> Rows:
    """Returns the partitions of which only the ISR may lead without a loss."""
    return [row for row in without_eligible(rows, case) if not case.kraft or case.isr(row.tp)]


def without_eligible(rows: Rows, case: CaseFile) -> Rows:
    """Returns the partitions of which it is known that no replica outside the ISR may lead without a loss."""
    return [
        row
        for row in rows
        if waits_for(row.tp, case) is None and not strayed(row.tp, case) and not not_read(row.tp, case)
    ]
