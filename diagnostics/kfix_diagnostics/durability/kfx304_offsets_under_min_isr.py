"""KFX304 offsets-under-min-isr: an offsets or transaction partition is led, but may not be written to.

Why it matters
    The coordinator writes with acks=all. Below min.insync.replicas every commit of the groups there fails, members
    cannot join either, and transactions cannot end - while reading records and committed offsets still works. With
    replication factor 1 and min.insync.replicas 2 this is so for every group, for ever.

How kfix knows
    Size of the isr against min.insync.replicas of the topic, or the leader's default where the topic sets none. Groups
    are those known by name that hash to these partitions: a probe that reads cannot tell, since reading works.

What helps
    Bring the missing replicas back. Where the replication factor itself is below min.insync.replicas: raise the
    replication factor by a reassignment.

What not to do
    No election: the partition has a leader. Do not restart the leader: it is the last one that has everything.

Sources
    Kafka 2.7.1: GroupMetadataManager appends with requiredAcks -1; NOT_ENOUGH_REPLICAS reaches the client as
    COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Blocked, Finding, Remedy, Severity
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._evidence import partition_rows
from kfix_diagnostics._words import has, ids, per_topic
from kfix_diagnostics.durability._missing import Missing, bring_back, by_missing, cause_of, explained, object_of

CODE = "KFX304"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for missing, found in by_missing(rows, case).items():
        yield _under(missing, found, case)


def _under(missing: Missing, rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    first = rows[0]
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=object_of(missing),
        summary=f"{per_topic(tps)} {has(len(tps))} fewer replicas in sync than min.insync.replicas demands (first: isr "
        f"{ids(case.isr(first.tp))}, min {first.min_isr}): commits fail while reads work",
        cause=cause_of(missing, rows, case),
        evidence=partition_rows(case, first.tp),
        blocked=_blocked(tps, case),
        remedies=tuple(_remedies(missing, case)),
        never=(
            "no election: the partitions have leaders",
            "do not restart the leaders: they are the last to have everything",
        ),
        partitions=tps,
        follows=explained(missing, case),
    )


def _blocked(tps: tuple[TopicPartition, ...], case: CaseFile) -> Blocked:
    offsets = [tp for tp in tps if tp.topic == OFFSETS_TOPIC]
    groups = tuple(sorted(g for tp in offsets for g in case.groups.get(tp.partition, ())))
    who = ["commits and joins of groups there"] if offsets else []
    if len(offsets) < len(tps):
        who.append("transactional producers there")
    return Blocked("; ".join(who), groups, others_unknown=bool(offsets))


def _remedies(missing: Missing, case: CaseFile) -> Iterator[Remedy]:
    yield from bring_back(missing, case)
    if not missing:
        yield runbook(case, "raise-offsets-rf", "raise the replication factor to 3, then keep min.insync.replicas at 2")
        return
    yield runbook(case, "under-min-isr", "wait for them, be told whom to start, and see that it helped")


CHECK = PartitionCheck(
    code=CODE,
    slug="offsets-under-min-isr",
    title="offsets or transaction partition below min.insync.replicas: commits fail",
    severity=Severity.CRITICAL,
    rows="internal and leader >= 0 and not leaderless and n_isr < min_isr and zk_agrees and not deleting",
    describe=describe,
    debounce=Debounce.HELD,
)
