"""Reads the end of an offsets partition's log if a cheaper answer leaves a doubt, and compares it with the
coordinator's offsets.

Which partitions are in doubt, and what a plain diagnosis does not see: docs/adr/019-the-offsets-log-only-in-doubt.md.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from kfix.core.collect.logs import ask_bounds, read_log_ends
from kfix.core.collect.pieces import read_pieces
from kfix.core.collect.tasks import Brokers, by_broker
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.record import leader_and_isr, newest_partition
from kfix.core.kafka import group_messages
from kfix.core.kafka.codes import TOPIC, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_records import GroupRecords
from kfix.core.kafka.questions import UNSTABLE
from kfix.core.kafka.requests import PartitionOffset
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import (
    BrokerView,
    LogEnd,
    LoggedGroup,
    OffsetsLog,
    OpenTransaction,
    TopicPartition,
)
from kfix.core.timing import Deadline

#: Records and bytes of a partition that are read at most: of one without a listed group, of one that holds the group
#: that was asked for or an open transaction, and of one without a coordinator.
_UNLISTED, _WANTED, _ORPHANED = (250, 1 << 20), (20_000, 8 << 20), (2_000, 1 << 20)
#: Most partitions without a coordinator whose logs are read, and most groups of a partition that are compared and kept.
MOST_ORPHANED = 50
_MOST_GROUPS = 200
_MOST_NAMES = 1_000
_SOURCE = "offsets log broker"

#: {offsets partition: (its leader, its replicas with the members of the ISR first)}
Places = Mapping[TopicPartition, tuple[int, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Part:
    """A part to read of one partition: from offset `first` on, at most `most_bytes`. `stable` is -1 at a follower."""

    tp: TopicPartition
    start: int
    stable: int
    log_end: int
    first: int
    most_bytes: int


def coordinators(record: ClusterRecord | None, views: Mapping[int, BrokerView], count: int) -> Places:
    """Returns leaders and replicas of `count` offsets partitions.

    The record counts if it was read, otherwise the metadata with the newest leader epoch.
    """
    found: dict[TopicPartition, tuple[int, tuple[int, ...]]] = {}
    for tp in (TopicPartition(OFFSETS_TOPIC, number) for number in range(count)):
        seen = newest_partition(tp, views)
        if seen is not None:
            leader, isr = leader_and_isr(tp, record, views)
            found[tp] = leader, (*isr, *(b for b in seen.replicas if b not in isr))
    return found


_OFFSET_NOT_AVAILABLE = 78
_NOTHING = PartitionOffset(0, -1)
#: A new leader knows its high watermark after one fetch of each follower in the ISR, at most 0.5 s apart.
_SETTLING_SECONDS, _PAUSE_SECONDS = 1.5, 0.1


def ask_parts(
    line: BrokerConnection,
    tps: tuple[TopicPartition, ...],
    listed: Collection[int],
    requested: Collection[int],
    deadline: Deadline,
) -> tuple[list[Part], list[TopicPartition], list[TopicPartition]]:
    """Returns (parts to read at this leader, partitions that it does not serve, those of them that it withholds).

    A new leader withholds its offsets until it knows the high watermark; they are requested again.
    """
    starts, ends, stables = ask_bounds(line, tps, deadline)
    again = deadline.within(min(_SETTLING_SECONDS, deadline.left / 4))
    while withheld := tuple(tp for tp in tps if ends.get(tp, _NOTHING).error == _OFFSET_NOT_AVAILABLE):
        if again.left <= _PAUSE_SECONDS:
            break
        time.sleep(_PAUSE_SECONDS)
        for known, new in zip((starts, ends, stables), ask_bounds(line, withheld, deadline), strict=True):
            known.update(new)
    parts, strange = [], []
    for tp in tps:
        if tp not in starts or starts[tp].error or ends[tp].error or stables[tp].error:
            strange.append(tp)
            continue
        start, end, stable = starts[tp].offset, ends[tp].offset, stables[tp].offset
        most, limit = _WANTED if tp.partition in requested or stable < end else _UNLISTED
        first = max(start, end - most)
        if stable < end and tp.partition not in requested:
            first = max(start, stable)
        if start < end and (stable < end or tp.partition in requested or tp.partition not in listed):
            parts.append(Part(tp, start, stable, end, min(first, stable), limit))
    return parts, strange, list(withheld)


def read_logs(
    brokers: Brokers, places: Places, listed: Collection[int], requested: Collection[int]
) -> tuple[OffsetsLog, ...]:
    """Returns the logs of the offsets partitions that leave a doubt; usually there are none.

    `listed` are the partitions of listed groups, `requested` those of the requested groups.
    """
    led = by_broker((leader, tp) for tp, (leader, _) in places.items() if leader in brokers.lines)
    orphaned = [tp for tp, (leader, _) in places.items() if leader not in brokers.lines]

    def ask(
        line: BrokerConnection, asked: tuple[int, tuple[TopicPartition, ...]], deadline: Deadline
    ) -> tuple[list[OffsetsLog], list[TopicPartition], list[TopicPartition]]:
        parts, strange, withheld = ask_parts(line, asked[1], listed, requested, deadline)
        return read_parts(line, (asked[0], parts), deadline, compare=True), strange, withheld

    found: list[OffsetsLog] = []
    refused: dict[int, list[TopicPartition]] = {}
    answers = brokers.each(_SOURCE, {b: (b, tps) for b, tps in led.items()}, ask).found
    for broker, (logs, strange, withheld) in answers.items():
        found += logs
        orphaned += strange
        if withheld:
            refused[broker] = withheld
    if orphaned:
        found += _read_orphaned(brokers, {tp: places[tp][1] for tp in orphaned[:MOST_ORPHANED]})
    for broker, tps in refused.items():
        # The coordinator's offsets cannot be compared with the log then: unknown is not healthy. Noted last: the logs
        # of other partitions are read under the same name.
        why = f"{tps[0]}: its leader returns no offsets (OFFSET_NOT_AVAILABLE)"
        brokers.questions.failed(f"{_SOURCE} {broker}", why)
    for log in found:
        # The groups stored there, or waiting for the transaction, are unknown: they may be blocked.
        in_doubt = log.stable < log.log_end or log.partition not in listed
        if log.error == name_of(TOPIC) and log.stable >= 0 and in_doubt:
            brokers.questions.failed(f"offsets log {log.partition}", f"{OFFSETS_TOPIC}-{log.partition}: {log.error}")
    kept_back = {tp.partition: broker for broker, tps in refused.items() for tp in tps}
    found = [
        replace(log, withheld=kept_back.get(log.partition) == log.broker and log.log_end > log.start) for log in found
    ]
    return tuple(sorted(found, key=lambda log: (log.partition, log.broker)))


def _read_orphaned(brokers: Brokers, replicas: Mapping[TopicPartition, tuple[int, ...]]) -> Iterable[OffsetsLog]:
    """Reads the logs of partitions without a coordinator, each from the first replica that serves its records."""
    ends = read_log_ends(brokers, replicas)
    found: dict[TopicPartition, OffsetsLog] = {}
    for turn in range(max((len(ids) for ids in replicas.values()), default=0)):
        unread = {tp: ids[turn] for tp, ids in replicas.items() if turn < len(ids) and not _served(found.get(tp))}
        known = [(b, tp, end) for tp, b in unread.items() if (end := ends.get(tp, {}).get(b)) is not None]
        parts = by_broker((b, _orphaned_part(tp, e)) for b, tp, e in known if not e.error and e.end > e.start)
        asked = {b: (b, each) for b, each in parts.items()}
        for logs in brokers.each(_SOURCE, asked, partial(read_parts, compare=False)).found.values():
            for log in logs:
                tp = TopicPartition(OFFSETS_TOPIC, log.partition)
                if log.groups or tp not in found:
                    found[tp] = log
    return found.values()


def _served(log: OffsetsLog | None) -> bool:
    return log is not None and bool(log.groups)


def _orphaned_part(tp: TopicPartition, end: LogEnd) -> Part:
    most, limit = _ORPHANED
    return Part(tp, end.start, -1, end.end, max(end.start, end.end - most), limit)


def read_parts(
    line: BrokerConnection, asked: tuple[int, Iterable[Part]], deadline: Deadline, *, compare: bool
) -> list[OffsetsLog]:
    """Reads parts from one broker; `asked` is (the broker, the parts).

    With `compare`, it is their coordinator, whose offsets are compared.
    """
    broker, parts = asked
    return [_read(line, broker, part, deadline, compare=compare) for part in parts]


def read_records(line: BrokerConnection, part: Part, deadline: Deadline) -> tuple[GroupRecords, int, str]:
    """Returns (the records of this part, the offset before which they were read, why reading ended early or "")."""
    found, at, error = GroupRecords(), part.first, ""
    for piece in read_pieces(line, part.tp, at, part.log_end, found.add, lambda: deadline, part.most_bytes):
        at, error = piece.end, piece.error
        if error:
            break
    return found, at, error


def _read(line: BrokerConnection, broker: int, part: Part, deadline: Deadline, *, compare: bool) -> OffsetsLog:
    found, at, error = read_records(line, part, deadline)
    log = OffsetsLog(
        part.tp.partition, broker, part.start, part.log_end, part.stable, part.first, at, _named(found), error=error
    )
    return _compared(line, log, found, deadline) if compare else log


def _named(found: GroupRecords) -> tuple[LoggedGroup, ...]:
    there = sorted(((name, g) for name, g in found.groups.items() if g.there), key=lambda each: each[0])
    return tuple(LoggedGroup(name, len(g.offsets), members=g.member_ids) for name, g in there[:_MOST_NAMES])


def _compared(line: BrokerConnection, log: OffsetsLog, found: GroupRecords, deadline: Deadline) -> OffsetsLog:
    """Returns the log with the coordinator's offsets; needs a newer broker than 2.4."""
    held: dict[str, set[TopicPartition]] = {}
    for transaction in found.open.values():
        for group, places in transaction.offsets().items():
            held.setdefault(group, set()).update(TopicPartition(*place) for place in places)
    logged = {g.name: {TopicPartition(*place) for place in found.groups[g.name].offsets} for g in log.groups}
    names = [name for name in dict.fromkeys((*held, *logged)) if held.get(name) or logged.get(name)][:_MOST_GROUPS]
    if not names or not line.supports(group_messages.OFFSET_FETCH, group_messages.STABLE_OFFSETS, deadline):
        return log
    partitions = {name: tuple(sorted(held.get(name, set()) | logged.get(name, set()))) for name in names}
    answers = line.call_many(
        [group_messages.stable_offset_fetch(name, tps) for name, tps in partitions.items()],
        deadline,
    )
    groups = {g.name: g for g in log.groups}
    for name, (error, offsets) in zip(partitions, answers, strict=True):
        if error:
            continue
        pending = tuple(tp for tp, each in offsets.items() if each.error == UNSTABLE)
        # Without the records up to the end of the log, a later one may have deleted the offset.
        absent = (
            tp for tp in logged.get(name, ()) if tp in offsets and offsets[tp] == group_messages.CommittedOffset(0, -1)
        )
        unserved = tuple(sorted(absent)) if log.end >= log.log_end and not log.error else None
        before = groups.get(name, LoggedGroup(name, 0))
        groups[name] = before._replace(unserved=unserved, pending=pending)
    refused = {name for name, group in groups.items() if group.pending}
    transactions = tuple(
        OpenTransaction(producer, each.since_ms, tuple(sorted(each.offsets())))
        for producer, each in sorted(found.open.items())
        if refused & each.offsets().keys()
    )
    return replace(log, groups=tuple(groups[name] for name in sorted(groups)), transactions=transactions)
