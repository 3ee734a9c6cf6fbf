"""Reads the whole log of an offsets partition from one replica, for `kfix offsets save`.

Each request fetches at most 1 MB. Only records below the high watermark are served: after a crash, a replica without a
leader may have a high watermark of 0 and serve none (docs/facts/consumer-groups.md).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from kfix.core.collect.logs import ask_log_ends
from kfix.core.collect.offsets_log import coordinators
from kfix.core.collect.pieces import read_pieces
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.record import leader_and_isr, record_of
from kfix.core.errors import UnreachableError
from kfix.core.kafka.batches import Batch
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_records import GroupRecords, LoadReplay, count_key
from kfix.core.kafka.records import Record
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import SavedGroup, SavedSource
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.wording import several, some

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """The content of one offsets partition. `tried` has a sentence for each replica that served less."""

    source: SavedSource
    groups: tuple[SavedGroup, ...]
    tried: tuple[str, ...] = ()


def partition_count(snapshot: Snapshot) -> int:
    """Returns the number of partitions of the offsets topic, 0 if it does not exist or is unknown."""
    known = {tp.partition for view in snapshot.views.values() for tp in view.partitions if tp.topic == OFFSETS_TOPIC}
    if (record := record_of(snapshot)) is not None:
        known |= {tp.partition for tp in record.assignments if tp.topic == OFFSETS_TOPIC}
    return len(known)


def read_partition(target: Target, snapshot: Snapshot, partition: int) -> PartitionOffsets:
    """Returns the offsets from the leader, else from the replica that serves most records; ISR members first.

    The offsets of a replica outside the ISR are never complete.

    Raises UnreachableError, with the answer of each replica, if no replica serves a record and one holds some.
    """
    tp = TopicPartition(OFFSETS_TOPIC, partition)
    record = record_of(snapshot)
    leader, replicas = coordinators(record, snapshot.views, partition + 1).get(tp, (-1, ()))
    in_sync = [*leader_and_isr(tp, record, snapshot.views)[1]]
    best: PartitionOffsets | None = None
    tried: list[str] = []
    for broker in sorted(replicas, key=lambda each: each != leader):
        try:
            found = _from_broker(target, snapshot, tp, broker, leads=broker == leader)
        except UnreachableError as error:
            tried.append(f"broker {broker}: {error}")
            continue
        if broker != leader and broker not in in_sync:
            stale = f"{found.source.name} is not in the ISR {in_sync}, so newer records may be missing"
            found = replace(found, source=replace(found.source, missing=(*found.source.missing, stale)))
        if found.source.complete:
            return replace(found, tried=tuple(tried))
        tried.append(f"{found.source.name}: {'; '.join(found.source.missing)}")
        if best is None or found.source.end > best.source.end:
            best = found
    if best is None or best.source.end <= best.source.start:
        why = "; ".join(tried) or "no replica of it is known"
        raise UnreachableError(f"{tp}: no replica serves its records: {why}")
    return replace(best, tried=tuple(tried))


def _from_broker(
    target: Target, snapshot: Snapshot, tp: TopicPartition, broker: int, *, leads: bool
) -> PartitionOffsets:
    address = snapshot.addresses.get(broker)
    if address is None:
        raise UnreachableError("is not registered, or its address is unknown")
    with BrokerConnection(address, target.security) as line:
        log = ask_log_ends(line, (tp,), Deadline.after(target.timeout))[tp]
        if log.error:
            raise UnreachableError(f"its log cannot be read: {log.error}")
        return _read(
            line,
            tp,
            SavedSource(tp.partition, "", f"broker {broker}", log.start, log.start, log.end),
            leads,
            target.timeout,
        )


def _read(
    line: BrokerConnection, tp: TopicPartition, source: SavedSource, leads: bool, timeout: float
) -> PartitionOffsets:
    found, missing, at, high = GroupRecords(), list[str](), source.start, source.log_end
    for piece in read_pieces(line, tp, at, source.log_end, found.add, lambda: Deadline.after(timeout)):
        at = piece.end
        if piece.refused:
            missing.append(f"records from offset {at} on: {piece.refused}")
            break
        high = piece.high_watermark
        missing += piece.unread
        if at >= high:
            break
        if at == piece.first:
            missing.append(f"records from offset {at} on: the broker serves none")
    if at < source.log_end and not missing and not leads:
        missing.append(not_served(at, high, source))
    kind = "leader" if leads else "replica"
    return saved(replace(source, kind=kind, end=at, missing=tuple(missing)), found)


def not_served(at: int, high: int, source: SavedSource) -> str:
    """Returns the sentence about records between the high watermark and the log end of a replica without a leader."""
    if at <= source.start:
        return (
            f"serves no records after a crash: its log ends at offset {source.log_end}, but its high watermark is "
            f"{high}"
        )
    return f"records {at} to {source.log_end - 1} are above the high watermark and are not served"


def saved(source: SavedSource, found: GroupRecords) -> PartitionOffsets:
    """Returns the groups with a committed offset. Adds the gaps in the records to the source."""
    unknown = [
        f"{name} {topic}-{number}"
        for name, group in sorted(found.groups.items())
        for (topic, number), each in group.offsets.items()
        if each is None
    ]
    missing = source.missing
    if unknown:
        what = f"{several(len(unknown), 'offset')} in a version that kfix does not know: {some(unknown, _MOST_NAMED)}"
        missing = (*missing, what)
    pending = sorted({name for each in found.open.values() for name in each.offsets()})
    groups = tuple(
        SavedGroup(
            name,
            source.partition,
            {TopicPartition(*where): each for where, each in sorted(group.offsets.items()) if each is not None},
        )
        for name, group in sorted(found.groups.items())
        if any(each is not None for each in group.offsets.values())
    )
    return PartitionOffsets(replace(source, missing=missing, pending=tuple(pending)), groups)


def only_groups(found: PartitionOffsets, names: Collection[str]) -> PartitionOffsets:
    """Returns the offsets of these groups only; of all groups if `names` is empty."""
    return replace(found, groups=tuple(group for group in found.groups if not names or group.name in names))


# Reads the whole log of an offsets partition as a coordinator loads it, and searches a replica's log for one key.

#: Most bytes of one log that are read. Without a working compaction a log is larger, and then nothing heals it.
_MOST_BYTES = 256 << 20


def replay_partition(line: BrokerConnection, tp: TopicPartition, timeout: float) -> OffsetsReplay:
    """Returns the partition from its leader. Raises UnreachableError if the leader does not answer."""
    found = LoadReplay()
    log = ask_log_ends(line, (tp,), Deadline.after(timeout))[tp]
    if log.error:
        raise UnreachableError(f"{tp}: its log cannot be read: {log.error}")

    error = _walk(line, tp, log.start, log.end, found.add, timeout)
    missing = (error,) if error else ()
    source = SavedSource(tp.partition, "leader", str(line.endpoint), log.start, log.end, log.end, missing)
    read = saved(source, found.groups)
    conflicts = tuple(sorted(found.conflicts.values(), key=lambda each: each.offset))
    return OffsetsReplay(tp, conflicts, read.groups, found.unknown, missing, read.source.pending)


def find_key(line: BrokerConnection, tp: TopicPartition, key: bytes, first: int, until: int, timeout: float) -> KeyLeft:
    """Returns the records with this key from offset `first` on; unknown unless the replica serves all before `until`.

    Any replica serves records below its high watermark.
    """
    found = KeyLeft()

    def add(batch: Batch, rows: Iterable[Record]) -> None:
        nonlocal found
        if not batch.control:
            found = count_key(found, key, rows)

    log = ask_log_ends(line, (tp,), Deadline.after(timeout))[tp]
    error = log.error or _walk(line, tp, max(first, log.start), until, add, timeout)
    return replace(found, error=error) if error else found


def _walk(
    line: BrokerConnection,
    tp: TopicPartition,
    first: int,
    until: int,
    add: Callable[[Batch, Iterable[Record]], None],
    timeout: float,
) -> str:
    """Passes each batch from `first` on to `add`. Returns why it ended before the offset `until`, or ""."""
    at = first
    for piece in read_pieces(line, tp, at, until, add, lambda: Deadline.after(timeout), _MOST_BYTES):
        at = piece.end
        if piece.refused:
            return f"{tp}: offset {at}: {piece.refused}"
        if piece.unread:
            return f"{tp}: {piece.error}"
        if at == piece.first:
            # A compacted log may end before `until`; only the high watermark shows that nothing is left.
            return "" if piece.high_watermark >= until else f"{tp}: offset {at} is not served yet"
    return f"{tp}: more than {_MOST_BYTES >> 20} MB: not read from offset {at} on" if at < until else ""
