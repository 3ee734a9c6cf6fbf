"""KFX101 coordinator-stuck: a partition of __consumer_offsets has no leader although a replica in sync is alive.

Why it matters
    Every consumer group that hashes to this partition waits for ever: no join, no commit, no read of committed offsets.
    Groups on other partitions work, so it looks like an application's fault. The metric OfflinePartitionsCount stays 0
    and no alert fires, because the controller does not count the partition as offline.

How kfix knows
    ZooKeeper's state of the partition names no leader, or one that is not registered, and at least one member of its
    isr is registered. Blocked groups are those known by name that hash to the partition and whose coordinator did not
    answer a probe. ListGroups is no proof: the former leader may still list them as healthy.

What helps
    An election among the replicas in sync. It cannot lose a record. A preferred election works only where the first
    replica of the assignment is alive and in sync; a reassignment to the same list works for any member of the isr;
    a new controller reads everything again and elects. `kfix runbook apply coordinator-stuck` takes them in this order
    and proves the outcome with a client. Starting the dead broker again does not help.

What not to do
    Do not restart the only member of the isr, do not edit the state znode, do not allow unclean elections, do not take
    the dead replica out of the assignment, do not reassign to the isr alone.

Sources
    Kafka 2.7.1: ReplicaStateMachine.doRemoveReplicasFromIsr writes leader -1 when the recorded leader is removed;
    PartitionStateMachine elects only for partitions that it holds for offline. Seen on real brokers of 2.7.1 and 3.9.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import PartitionCheck, Rows
from kfix.model.diagnosis.finding import Finding, Severity
from kfix_diagnostics.leadership import _leaderless

CODE = "KFX101"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    yield from _leaderless.describe(CODE, rows, case)


CHECK = PartitionCheck(
    code=CODE,
    slug="coordinator-stuck",
    title="offsets partition without a leader although a replica in sync lives",
    severity=Severity.CRITICAL,
    rows="offsets and leaderless and n_live_isr > 0 and not deleting",
    describe=describe,
)
