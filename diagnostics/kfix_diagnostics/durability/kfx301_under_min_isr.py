"""KFX301 under-min-isr: fewer replicas are in sync than min.insync.replicas requires, so acks=all fails.

Why it matters
    Producers with acks=all fail (NOT_ENOUGH_REPLICAS); those with acks=1 continue, and so do consumers. Nothing is
    lost. Records that acks=1 producers write from now on exist on few disks.

How kfix knows
    Size of the ISR against the topic's min.insync.replicas, or the leader's default if the topic sets none. A leader of
    Kafka 3.7 or newer never requires more than all replicas, however high the setting. If no source shows the release
    of the brokers, a full ISR below the setting is a warning. Partitions without a leader are not counted here; they
    have findings of their own.

Remedies, safest first
    Bring the missing replicas back: start the dead broker, repair the lagging one. While a reassignment adds the
    missing replicas, wait for it. Lowering min.insync.replicas is a decision to acknowledge records that exist on fewer
    disks; make it deliberately or not at all.

Do not
    Do not trigger an election of any kind: the partition has a leader, and an election brings no replica back.

Sources
    Kafka 2.7.1: Partition.appendRecordsToLeader. After a shrink, acks=all first times out and then fails at once. See
    docs/facts/data-loss.md and docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.predicate import UNDER_MIN_ISR
from kfix.core.diagnosis.finding import Blocked, Finding, Severity
from kfix.core.wording import per_topic
from kfix_diagnostics.durability._missing import all_missing, fail_for, under_min_isr

NEVER = "Do not trigger an election of any kind: the partitions have leaders, and an election brings no replica back"


@PartitionCheck(severity=Severity.CRITICAL, rows=f"not internal and {UNDER_MIN_ISR}", debounce=Debounce.HELD)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for missing, found in all_missing(rows, case).items():
        them = per_topic(row.tp for row in found)
        yield under_min_isr(
            missing,
            found,
            case,
            fails=f"producers with acks=all {fail_for(them, found, case)}",
            blocked=Blocked(f"producers of {them} with acks=all", unaffected=f"consumers of {them}"),
            never=(NEVER,),
            last_resort=". Last resort: lower min.insync.replicas with -p relax_to=1",
        )
