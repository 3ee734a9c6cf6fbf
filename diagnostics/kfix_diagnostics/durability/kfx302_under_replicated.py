"""KFX302 under-replicated: fewer replicas are in sync than the topic should have; nobody is blocked yet.

Why it matters
    One failure less is left before producers fail or the partition goes down. The count alone says nothing: which
    brokers are missing does, and whether they are dead, cut off from one leader, or slow.

How kfix knows
    The isr of each partition against its assignment, grouped by exactly the brokers that are missing. Replicas that a
    reassignment is still adding do not count. A broker that came back less than the restart grace ago is catching up.

What helps
    Dead broker: start it. Alive but lagging behind one leader only: the link between the two. Lagging everywhere: its
    disk, its garbage collection, or a throttle left over from a reassignment.

What not to do
    No election, no restart of the brokers that are in sync.

Sources
    Kafka 2.7.1: Partition.getOutOfSyncReplicas; a follower is out when it has not caught up for
    replica.lag.time.max.ms (30 s since 2.5, before 10 s). Idle partitions never shrink.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import Debounce, PartitionCheck, Rows
from kfix.derive.naming import brokers_named
from kfix.model.diagnosis.finding import Finding, Remedy, Severity
from kfix_diagnostics._evidence import partition_rows
from kfix_diagnostics._words import ago, per_topic
from kfix_diagnostics.durability._missing import Missing, bring_back, by_missing, cause_of, explained, lag_keys

CODE = "KFX302"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for missing, found in by_missing(rows, case).items():
        yield _under(missing, found, case)


def _under(missing: Missing, rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    first = rows[0].tp
    oldest = max(row.state_age for row in rows)
    since = f", for up to {ago(oldest)}" if oldest >= 0 else ""
    verb = "is" if len(tps) == 1 else "are"
    return Finding(
        code=CODE,
        severity=Severity.INFO if case.calm(missing) else Severity.WARNING,
        obj=f"without {brokers_named(missing)}",
        summary=f"{per_topic(tps)} {verb} under-replicated: {brokers_named(missing)} not in sync{since}",
        cause=cause_of(missing, rows, case),
        evidence=partition_rows(case, first),
        remedies=tuple(_remedies(missing, case)),
        never=("no election, and no restart of the brokers that are in sync",),
        partitions=tps,
        follows=(*explained(missing, case), *lag_keys(missing, case)),
    )


def _remedies(missing: Missing, case: CaseFile) -> Iterator[Remedy]:
    if case.calm(missing):
        yield Remedy("wait: this is what a restart looks like")
        return
    yield from bring_back(missing, case)


CHECK = PartitionCheck(
    code=CODE,
    slug="under-replicated",
    title="fewer replicas in sync than assigned",
    severity=Severity.WARNING,
    rows="leader >= 0 and not leaderless and n_isr < target_rf and n_isr >= min_isr and zk_agrees and not deleting",
    describe=describe,
    debounce=Debounce.HELD,
)
