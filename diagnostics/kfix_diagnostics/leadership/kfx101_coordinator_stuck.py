"""KFX101 coordinator-stuck: an offsets partition has no leader although an in-sync replica is alive.

Why it matters
    Every consumer group that hashes to this partition is blocked: no join, no commit, no read of committed offsets.
    Groups on other partitions work, so it looks like an application fault. The metric OfflinePartitionsCount stays 0
    and no alert fires, because the controller does not count the partition as offline.

How kfix knows
    ZooKeeper's state of the partition names no leader, or one that is not registered, and at least one member of its
    ISR is registered, with its log directory (KFX406). Blocked groups are the groups known by name that hash to the
    partition and whose coordinator did not respond to a probe. ListGroups proves nothing: the former leader may still
    list them as healthy.

Remedies, safest first
    Elect an in-sync replica, which cannot lose a record. A preferred election works only if the preferred leader is
    alive and in sync; a reassignment to the same replicas works for any member of the ISR; a new controller reads all
    state again and elects. `kfix runbook apply coordinator-stuck` tries them in this order and verifies the outcome
    with a client. Starting the dead broker again does not help.

    On KRaft no command elects here: a controller that is active elects an in-sync replica by itself. Find out why none
    does: see KFX811, KFX813 and KFX814.

Do not
    Do not restart the only member of the ISR, do not edit the state znode, do not allow unclean elections, do not
    remove the dead replica from the assignment, do not reassign to the ISR alone.

Sources
    Kafka 2.7.1: ReplicaStateMachine.doRemoveReplicasFromIsr writes leader -1 when the recorded leader is removed;
    PartitionStateMachine elects only for partitions that it considers offline. Reproduced on real brokers of 2.7.1 and
    3.9.2. See docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows
from kfix.core.diagnosis.finding import Finding, Severity
from kfix_diagnostics.leadership import _leaderless


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="offsets and leaderless and n_online_isr > 0 and not deleting and not zk_lacks",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    yield from _leaderless.describe(rows, case)
