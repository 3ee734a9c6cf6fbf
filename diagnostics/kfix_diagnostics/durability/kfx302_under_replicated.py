"""KFX302 under-replicated: fewer replicas are in sync than assigned.

Why it matters
    One more failure makes producers fail or the partition unavailable. The count alone shows little: what matters is
    which brokers are missing, and whether they are dead, cut off from one leader, or slow.

How kfix knows
    The ISR of each partition against its assignment, by the broker that is missing; a partition that lacks two brokers
    is in both findings. Replicas that a reassignment is still adding do not count. A broker that came back less than
    the restart grace ago is catching up, unless a partition has lacked it for more than twice that: such a broker
    starts again and again. The age is that of the
    last write of ZooKeeper's record, so a lower bound; where the partitions differ, that of the oldest is added.

Remedies, safest first
    Dead broker: start it. Alive but lagging behind one leader only: repair the link between the two. Lagging behind all
    leaders: check its disk, its garbage collection, and throttles left over from a reassignment.

Do not
    Do not trigger an election, and do not restart the brokers that are in sync.

Sources
    Kafka 2.7.1: Partition.getOutOfSyncReplicas; a follower is out of sync when it has not caught up for
    replica.lag.time.max.ms (30 s since 2.5, 10 s before). The ISR of idle partitions never shrinks. See
    docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.predicate import UNDER_REPLICATED
from kfix.core.diagnosis.finding import Finding, Remedy, Severity
from kfix.core.wording import ago, are, at_least, brokers_named, has, per_topic, topics
from kfix_diagnostics._bans import no_election
from kfix_diagnostics._evidence import partition_rows
from kfix_diagnostics.durability import _missing as lack

_NEVER = "Do not trigger an election"


@PartitionCheck(rows=f"n_isr >= min_isr and {UNDER_REPLICATED}", debounce=Debounce.HELD, brokers=lack.missing_from)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    groups = lack.by_missing(rows, case)
    for missing, found in groups.items():
        yield _under(missing, found, case, lack.same_partitions(missing, groups, case))


def _under(missing: lack.Missing, rows: Rows, case: CaseFile, others: tuple[str, ...]) -> Finding:
    tps = tuple(row.tp for row in rows)
    oldest = max(rows, key=lambda row: row.state_age)
    # Away for one restart grace, and catching up for another: an ordinary restart may explain it.
    calm = case.calm(missing) and oldest.state_age <= 2 * case.criteria.restart_grace
    since = _since(rows, oldest)
    return Finding(
        severity=Severity.INFO if calm else Severity.WARNING,
        obj=f"without {brokers_named(missing)}",
        summary=f"{per_topic(tps)} {are(topics(tps))} under-replicated: {brokers_named(missing)} "
        f"{has(len(missing)) if since else are(len(missing))} {'been ' if since else ''}out of sync{since}",
        cause=lack.cause_of(missing, rows, case),
        evidence=partition_rows(case, oldest.tp),
        remedies=(Remedy("Wait: an ordinary restart has the same symptoms"),)
        if calm
        else tuple(lack.bring_back(missing, rows, case)),
        never=(_NEVER if lack.left_out_at(missing, rows, case) else f"{_NEVER}, and {lack.NO_RESTART}",),
        forbids=(no_election(tps),),
        partitions=tps,
        headline=_headline(missing, oldest, case) if calm else "",
        token=",".join(map(str, missing)),
        follows=(*lack.explained(missing, rows, case), *others, *lack.lag_keys(missing, case)),
    )


def _since(rows: Rows, oldest: PartitionFacts) -> str:
    """Returns for how long the brokers have been missing everywhere, and where for longest: since the last write."""
    least = min(row.state_age for row in rows)
    if oldest.state_age < 0:
        return ""
    everywhere = f" for {at_least(least)}" if least >= 0 else ""
    longest = at_least(oldest.state_age)
    return everywhere if everywhere == f" for {longest}" else f"{everywhere}, at {oldest.tp} for {longest}"


def _headline(missing: lack.Missing, oldest: PartitionFacts, case: CaseFile) -> str:
    """Returns what the first line says while a broker that came back catches up; of one that left, KFX401 says it."""
    there = [b for b in missing if b not in case.dead]
    ages = [age for b in there for age in (case.back_for(b), case.troubled_at_most(b)) if age is not None]
    if not ages:
        return ""
    grace = case.criteria.restart_grace
    left = ago(min(grace - min(ages), 2 * grace - oldest.state_age))
    return f"{lack.came_back(missing, case)} and {are(len(missing))} catching up, an alarm in {left}"
