"""KFX304 offsets-under-min-isr: a partition of an internal topic is below min.insync.replicas, so commits fail.

Why it matters
    The coordinator writes with acks=all. Below min.insync.replicas every commit of the groups there fails, members
    cannot join, transactions cannot end, and share groups (Kafka 4) cannot acknowledge records, while reading records
    and committed offsets still works. With replication factor 1 and min.insync.replicas 2 this affects every group,
    forever, before Kafka 3.7; newer leaders require no more than all replicas. A new leader of Kafka 4 cannot advance
    its high watermark then, and serves old committed offsets or none, without an error: a consumer that starts now
    reads records again, or begins where auto.offset.reset points.

How kfix knows
    Size of the ISR against min.insync.replicas of the topic, or the leader's default if the topic sets none. Blocked
    groups are those known by name that hash to these partitions: a probe cannot show it, because reading works. A
    leader that returns no offsets of its own log (OFFSET_NOT_AVAILABLE), although the log has records, serves none of
    those above the high watermark that it took over with.

Remedies, safest first
    Bring the missing replicas back. If the replication factor itself is below min.insync.replicas: raise the
    replication factor by a reassignment.

Do not
    Do not trigger an election: the partition has a leader. Do not restart the leader: it is the last complete replica.
    Do not start consumers of groups whose last commits are not served: they begin elsewhere, and commit that.

Sources
    Kafka 2.7.1: GroupMetadataManager appends with requiredAcks -1; NOT_ENOUGH_REPLICAS reaches the client as
    COORDINATOR_NOT_AVAILABLE. See docs/facts/coordinators.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.derive.predicate import UNDER_MIN_ISR
from kfix.core.diagnosis.finding import Blocked, Evidence, Finding, Severity
from kfix.core.snapshot.snapshot import OffsetsLog, TopicPartition
from kfix.core.wording import brokers_named, per_topic
from kfix_diagnostics.durability._missing import Missing, all_missing, fail_for, left_out_at, under_min_isr

_SHOWN = 3


@PartitionCheck(severity=Severity.CRITICAL, rows=f"internal and {UNDER_MIN_ISR}", debounce=Debounce.HELD)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for missing, found in all_missing(rows, case).items():
        yield _under(missing, found, case)


def _under(missing: Missing, rows: Rows, case: CaseFile) -> Finding:
    tps = tuple(row.tp for row in rows)
    # Where they do not add a replica, only their restart helps (KFX810).
    leaders = () if left_out_at(missing, rows, case) else tuple(sorted({row.leader for row in rows if row.leader_live}))
    withheld = [log for log in case.offsets_logs if log.withheld and _tp(log) in tps]
    never = ["Do not trigger an election: the partitions have leaders"]
    if leaders:
        never.append(f"Do not restart {brokers_named(leaders)}: the leaders are the last complete replicas")
    if withheld:
        never.append(_never_start(withheld))
    return under_min_isr(
        missing,
        rows,
        case,
        fails=f"{_what_fails(tps, rows, case)}, {_reads(withheld)}",
        blocked=_blocked(tps, withheld, case),
        never=never,
        evidence=_withheld_rows(withheld),
        kept_up=leaders,
    )


def _what_fails(tps: tuple[TopicPartition, ...], rows: Rows, case: CaseFile) -> str:
    if all(tp.topic == SHARE_TOPIC for tp in tps):
        return f"acknowledgements of share groups {fail_for(per_topic(tps), rows, case)}"
    if any(tp.topic == SHARE_TOPIC for tp in tps):
        what = "commits of groups and transactions, and acknowledgements of share groups,"
        return f"{what} {fail_for(per_topic(tps), rows, case)}"
    return f"commits {fail_for(f'groups and transactions of {per_topic(tps)}', rows, case)}"


def _tp(log: OffsetsLog) -> TopicPartition:
    return TopicPartition(OFFSETS_TOPIC, log.partition)


def _of(withheld: list[OffsetsLog]) -> str:
    return per_topic(map(_tp, withheld))


def _reads(withheld: list[OffsetsLog]) -> str:
    if not withheld:
        return "while reads work"
    return f"and {_of(withheld)} {'serves' if len(withheld) == 1 else 'serve'} old committed offsets, or none"


def _withheld_rows(withheld: list[OffsetsLog]) -> Iterator[Evidence]:
    for log in withheld[:_SHOWN]:
        said = f"OFFSET_NOT_AVAILABLE, although its log ends at {log.log_end}: it does not know its high watermark"
        yield Evidence(f"ListOffsets at broker {log.broker}", str(_tp(log)), said)


def _never_start(withheld: list[OffsetsLog]) -> str:
    return (
        f"Do not start consumers of groups of {_of(withheld)} before that: they would get an old committed offset or "
        "none, read records again or skip some, and later commit that position"
    )


def _blocked(tps: tuple[TopicPartition, ...], withheld: list[OffsetsLog], case: CaseFile) -> Blocked:
    offsets = [tp for tp in tps if tp.topic == OFFSETS_TOPIC]
    groups = tuple(sorted(g for tp in offsets for g in case.groups.get(tp.partition, ())))
    who = ["commits and joins of the groups of these partitions"] if offsets else []
    if withheld:
        who.append(f"consumers of groups of {_of(withheld)} start at an old offset, or by auto.offset.reset")
    topics = {tp.topic for tp in tps}
    if TRANSACTIONS_TOPIC in topics:
        who.append("transactional producers of these partitions")
    if SHARE_TOPIC in topics:
        who.append("share groups that read a partition whose state hashes to these partitions")
    return Blocked("; ".join(who), groups, others_unknown=bool(offsets))
