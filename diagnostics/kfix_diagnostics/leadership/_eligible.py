"""Partitions without a leader that an eligible replica may lead: KFX119 reports them, KFX103 and KFX104 the others."""

from __future__ import annotations

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Rows
from kfix.model.cluster.quorum import EligibleLeaders
from kfix.model.cluster.snapshot import TopicPartition


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


def without_eligible(rows: Rows, case: CaseFile) -> Rows:
    return [row for row in rows if waits_for(row.tp, case) is None and not strayed(row.tp, case)]
