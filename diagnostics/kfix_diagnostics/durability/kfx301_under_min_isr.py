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

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.predicate import UNDER_MIN_ISR
from kfix.core.diagnosis.finding import Blocked, Finding, Remedy, Severity
from kfix.core.wording import ids, per_topic
from kfix_diagnostics._advice import runbook
from kfix_diagnostics._bans import no_election
from kfix_diagnostics._evidence import partition_rows
from kfix_diagnostics.durability._missing import (
    IF_OLD,
    Missing,
    about,
    all_missing,
    being_added,
    bring_back,
    cause_of,
    explained,
    may_be_capped,
    more_replicas,
    object_of,
)


@PartitionCheck(severity=Severity.CRITICAL, rows=f"not internal and {UNDER_MIN_ISR}", debounce=Debounce.HELD)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for missing, found in all_missing(rows, case).items():
        yield _under(missing, found, case)


def _under(missing: Missing, rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    first = rows[0]
    wanted = sorted({row.min_isr for row in rows})
    unsure = may_be_capped(rows, case)
    fail = f"may fail for {per_topic(tps)}, {IF_OLD}" if unsure else f"fail for {per_topic(tps)}"
    return Finding(
        severity=Severity.WARNING if unsure else Severity.CRITICAL,
        obj=object_of(missing),
        about=about(missing),
        summary=f"producers with acks=all {fail}: fewer replicas are in sync than "
        f"min.insync.replicas requires (first partition: ISR {ids(case.isr(first.tp))}, "
        f"minimum {', '.join(map(str, wanted))})",
        cause=cause_of(missing, rows, case),
        evidence=partition_rows(case, first.tp),
        blocked=Blocked()
        if unsure
        else Blocked(f"producers of {per_topic(tps)} with acks=all", unaffected=f"consumers of {per_topic(tps)}"),
        remedies=tuple(_remedies(missing, rows, case)),
        never=(
            (
                "Do not trigger an election of any kind: the partitions have leaders, and an election brings no "
                "replica back"
            ),
        ),
        forbids=(no_election(tps),),
        partitions=tps,
        follows=explained(missing, rows, case),
    )


def _remedies(missing: Missing, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    yield from bring_back(missing, rows, case)
    if not missing:
        growing = [row.tp for row in rows if being_added(row, case)]
        if growing:
            them = per_topic(growing)
            yield Remedy(f"Wait for the reassignment of {them}, which adds the missing replicas")
        if len(growing) == len(rows):
            return
        yield from more_replicas(rows, case)
        return
    starts = "names the broker to start and " if case.away(missing) or case.live is None else ""
    text = f"The runbook {starts}verifies recovery"
    yield runbook(case, "under-min-isr", f"{text}. Last resort: lower min.insync.replicas with -p relax_to=1")
