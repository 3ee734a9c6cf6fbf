"""KFX122 hanging-transaction: a transaction that its coordinator has ended is still open in a partition.

Why it matters
    No coordinator writes the marker that would end it, and no timeout applies. The last stable offset stands for good:
    consumers with isolation.level=read_committed get no records beyond it, and no error. The log cleaner stops there,
    too, so a compacted partition grows.

How kfix knows
    If the cluster has `__transaction_state`, kfix asks each leader for the high watermark and the last stable offset of
    its partitions. Where the latter is lower, it reads the batch there, which names the producer id, its epoch and the
    start, of 20 partitions of a leader at most: the oldest by DescribeProducers, which brokers before 3.0 do not have.
    It leaves out batches of the last 5 s. Then it reads the log of `__transaction_state`, and the partitions once
    more. A coordinator logs a partition before the first record is written to it, and the end of a transaction after
    all of its markers. So a transaction that was open in the partition before and after, and is not open in the log,
    hangs. A transaction that is Ongoing, or whose markers are being written, is never reported, and nothing is unless
    the log was read: all partitions to their ends, or the one that has the producer.

    The log shows the outcome, too. If the coordinator decided to commit with this partition, only the marker is
    missing. If it decided to abort, or no decision since then covers the partition, although every record is there and
    the coordinator has not moved, the records were never part of a committed transaction. Otherwise the outcome is
    unknown: compaction or an unclean election of `__transaction_state` has removed it, or the records carry times after
    the commit.

Remedies, safest first
    The runbook end-hanging-transaction writes the marker that is missing: commit or abort, as the coordinator decided.
    If its log does not show that, decide: ask the owner of the application whether the transaction was committed. A
    commit lets consumers read all of its records in the partition, an abort hides them for good.

Do not
    Do not run kafka-transactions.sh abort for a transaction that was committed: it hides records that the cluster has
    acknowledged. Do not restart brokers and do not elect another leader: the transaction stays open. A start of the
    application does not end it either; its next transaction over the same partition does, with its own outcome, so that
    records of the hanging one may appear or vanish with it.

Sources
    Tried on 2.7.1 and 4.3.1. KIP-664; KAFKA-20716. See docs/facts/consumer-groups.md.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.derive.hanging import ABORT, COMMIT, UNKNOWN, Hanging
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import SHARE_GROUP
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import ago, per_topic, some, utc_text
from kfix_diagnostics._advice import runbook, servers
from kfix_diagnostics._transactions import age_of, hanging_in, lists_transactions

RUNBOOK = "end-hanging-transaction"
_SHOWN = 5
_Held = Mapping[TopicPartition, Hanging]


@ClusterCheck(severity=Severity.CRITICAL, debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    found = sorted(hanging_in(case).items(), key=lambda each: (each[1].batch.producer, each[0]))
    for producer, rows in groupby(found, key=lambda each: each[1].batch.producer):
        yield _found(producer, dict(rows), case)


def _found(producer: int, held: _Held, case: CaseFile) -> Finding:
    groups = _groups(held, case)
    oldest = min(held.values(), key=lambda each: each.batch.since_ms)
    name = oldest.transactional_id or f"producer id {producer}"
    where = per_topic(tuple(held))
    who = f"consumers of {'group' if len(groups) == 1 else 'groups'} {some(groups)}" if groups else "consumers"
    age = ago(age_of(case, oldest.batch.since_ms))
    return Finding(
        severity=Severity.CRITICAL if groups else Severity.WARNING,
        obj=f"producer id {producer}",
        summary=f"a transaction of {name}, which its coordinator does not have open, has held back the last stable "
        f"offset of {where} for {age} by the timestamp of its first record: {who} with "
        "isolation.level=read_committed get no records beyond it, until a marker ends it",
        cause=_cause(name, held),
        evidence=tuple(_rows(held, case)),
        blocked=Blocked("consumers with read_committed", groups),
        remedies=tuple(_remedies(held, case)),
        never=tuple(_never(held)),
        partitions=tuple(held),
        facts={"transactional_id": oldest.transactional_id, "producer": producer},
        token=",".join(f"{tp}:{each.batch.offset}:{each.batch.epoch}" for tp, each in held.items()),
    )


def _groups(held: _Held, case: CaseFile) -> tuple[str, ...]:
    """Returns the groups that read one of the partitions and have not read it to its end."""
    found: dict[str, None] = {}
    for reading in case.snapshot.group_readings:
        positions = ((reading.partitions or {}).get(tp) for tp in held)
        behind = any(each is not None and each.committed < each.end for each in positions)
        if behind and reading.group_type != SHARE_GROUP:
            found[reading.group] = None
    return tuple(found)


def _cause(name: str, held: _Held) -> Cause:
    where = per_topic(tuple(held))
    if any(each.outcome == UNKNOWN and each.last is None for each in held.values()):
        return Cause(
            f"no coordinator has a record of it: an unclean election of {TRANSACTIONS_TOPIC} lost it, or {name} has "
            "expired since"
        )
    if any(each.outcome == UNKNOWN for each in held.values()):
        return Cause(f"its coordinator has ended it, and the log does not show any more whether it committed {where}")
    if any(each.outcome == COMMIT for each in held.values()):
        return Cause(
            f"its coordinator committed it with {where}, which has lost the marker: an unclean election cut it off"
        )
    if all(each.belongs for each in held.values()):
        return Cause(f"its coordinator aborted it, and {where} has lost the marker, or its records came after it")
    return Cause(f"its records came late: {where} does not belong to a transaction since then")


def _rows(held: _Held, case: CaseFile) -> Iterator[Evidence]:
    for tp, each in list(held.items())[:_SHOWN]:
        batch = each.batch
        yield Evidence(
            f"Fetch of {tp}, twice",
            f"batch at its last stable offset {batch.offset}",
            f"producer id {batch.producer} epoch {batch.epoch}",
            age_of(case, batch.since_ms),
        )
        shown = next((row for row in (each.decided, each.last) if row is not None), None)
        value = "no record of this producer id"
        if shown is not None:
            covered = f"with {some(list(map(str, shown.partitions)))}" if shown.partitions else "without partitions"
            when = f" at {utc_text(shown.updated_ms / 1000)}" if shown.updated_ms > 0 else ""
            value = f"transactional.id {shown.transactional_id}, {shown.status} {covered}, epoch {shown.epoch}{when}"
        yield Evidence(f"log of {TRANSACTIONS_TOPIC}", f"producer id {batch.producer}", value)


def _remedies(held: _Held, case: CaseFile) -> Iterator[Remedy]:
    outcomes = {each.outcome for each in held.values()}
    where = per_topic(tuple(held))
    if UNKNOWN in outcomes:
        yield Remedy("Ask the owner of the application whether this transaction was committed")
        text = (
            f"If it was: write its commit marker with a gated runbook. Consumers then get all of its records in {where}"
        )
        yield runbook(case, RUNBOOK, text, f"outcome={COMMIT}")
        text = f"If it was not: write its abort marker. This hides its records in {where} for good"
        yield runbook(case, RUNBOOK, text, f"outcome={ABORT}")
        return
    ends = " and ".join(sorted(outcomes))
    text = f"Write the marker that is missing, {ends} as the coordinator's log shows, with a gated runbook"
    yield runbook(case, RUNBOOK, text)
    if outcomes == {ABORT} and lists_transactions(case):
        tp, each = next(iter(held.items()))
        yield Remedy(
            "Or abort it with Kafka's own tool, one partition after the other",
            f"kafka-transactions.sh {servers(case)} abort --topic {tp.topic} --partition {tp.partition} "
            f"--start-offset {each.batch.offset}",
        )


def _never(held: _Held) -> Iterator[str]:
    if any(each.outcome != ABORT for each in held.values()):
        yield (
            "Do not abort it with kafka-transactions.sh, unless you know that it was not committed: an abort hides its "
            "records for good"
        )
    yield "Do not restart brokers or elect another leader because of it: the transaction stays open"
    yield (
        "Do not rely on a start of the application: only its next transaction over the same partition ends it, with "
        "the outcome of that one"
    )
