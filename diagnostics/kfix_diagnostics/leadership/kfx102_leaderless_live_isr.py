"""KFX102 leaderless-live-isr: a partition has no leader although a replica in sync is alive.

Why it matters
    Nobody can produce to it or read from it, although every acknowledged record is there and one election would end it.
    Where the topic is __transaction_state, transactional producers wait that hash to this partition.

How kfix knows
    As for KFX101, for any other topic: no leader, or one that is not registered, while a member of the isr is.

What helps
    An election among the replicas in sync, which cannot lose a record: `kfix runbook apply coordinator-stuck`.

What not to do
    Do not restart the only member of the isr, do not edit the state znode, do not allow unclean elections, do not take
    the dead replica out of the assignment, do not reassign to the isr alone.

Sources
    Kafka 2.7.1: as KFX101. In KRaft this is no lasting state: the member is fenced, or the metadata that was read is
    stale.
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import PartitionCheck, Rows
from kfix.model.diagnosis.finding import Finding, Severity
from kfix_diagnostics.leadership import _leaderless

CODE = "KFX102"


def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    yield from _leaderless.describe(CODE, rows, case)


CHECK = PartitionCheck(
    code=CODE,
    slug="leaderless-live-isr",
    title="partition without a leader although a replica in sync lives",
    severity=Severity.CRITICAL,
    rows="not offsets and leaderless and n_live_isr > 0 and not deleting",
    describe=describe,
)
