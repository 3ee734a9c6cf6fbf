"""KFX102 leaderless-live-isr: a partition has no leader although an in-sync replica is alive.

Why it matters
    Producers and consumers of the partition are blocked, although every acknowledged record exists and one election
    would restore service. If the topic is __transaction_state, transactional producers that hash to this partition are
    blocked.

How kfix knows
    As for KFX101, for any other topic: no leader, or one that is not registered, while a member of the ISR is
    registered. A member whose log directory failed (KFX406) does not count: Kafka cannot elect it.

Remedies, safest first
    Elect an in-sync replica, which cannot lose a record: `kfix runbook apply coordinator-stuck`.

    On KRaft no command elects here: a controller that is active elects an in-sync replica by itself. Find out why none
    does: see KFX811, KFX813 and KFX814.

Do not
    Do not restart the only member of the ISR, do not edit the state znode, do not allow unclean elections, do not
    remove the dead replica from the assignment, do not reassign to the ISR alone.

Sources
    Kafka 2.7.1: as KFX101. In KRaft this state does not last: the replica is fenced, or the metadata that was read is
    stale. See docs/facts/controller.md and docs/facts/kraft.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows
from kfix.core.diagnosis.finding import Finding, Severity
from kfix_diagnostics.leadership import _leaderless


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="not offsets and leaderless and n_online_isr > 0 and not deleting and not zk_lacks",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    yield from _leaderless.describe(rows, case)
