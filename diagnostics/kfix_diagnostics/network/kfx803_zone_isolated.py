"""KFX803 zone-isolated: a zone is cut off from the others.

Why it matters
    Partitions that the zone's broker led have two leaders now: it still accepts records of clients near it, and the
    others follow a new leader. With acks=0 or 1 both sides acknowledge different records at the same offsets, and those
    of the isolated side are truncated when it returns. With acks=all no acknowledged record is lost. If it led nothing,
    only clients in the zone notice: they reach no leader.

How kfix knows
    The broker responds to kfix and is not registered; its epochs are older by one; it still names the recorded broker
    as controller. The forecast is its log end minus the end of its epoch at the new leader, asked of both.

Remedies, safest first
    Repair the network. The broker registers within a second, truncates and follows; its ZooKeeper server joins again in
    14 to 17 s.

Do not
    Do not trigger elections or reassignments, do not restart: nothing is wrong with Kafka. Do not delay the repair if
    two leaders accept records: each second adds to the loss.

Sources
    Kafka 2.7.1, three zones: session over 4.8 to 5.4 s after the cut at 6 s; leader epoch + 1; 676 records truncated,
    as forecast by the log ends. See docs/facts/network-partitions.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.cuts import CutKind
from kfix.core.diagnosis.finding import Finding, Severity
from kfix_diagnostics.network._cut import isolated


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    cut = case.cut
    if cut is not None and cut.kind is CutKind.ZONE:
        yield isolated(case, cut, controllers="")
