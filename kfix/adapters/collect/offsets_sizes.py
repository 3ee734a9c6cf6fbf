"""Reads how large the replicas of the offsets partitions are, and a piece of those that should be compacted.

The offsets of a log do not show it: its log start offset stays 0 whether it is compacted or not. Keys that repeat do,
since compaction leaves one record of each key (docs/adr/021-an-uncompacted-log-by-repeated-keys.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kfix.adapters.collect.tasks import Questions
from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import requests, resources, responses
from kfix.adapters.kafka.batches import batches_in
from kfix.adapters.kafka.codec import ProtocolError
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.records import UnreadBatchError, records, require_readable
from kfix.derive.compaction import SAMPLED_SHARE, should_be_compacted
from kfix.model.cluster.offsets_size import OffsetsLogSize
from kfix.model.cluster.snapshot import TopicPartition

#: Most logs of a broker of which a piece is read, largest first.
MOST_SAMPLED = 10
#: A piece is a small part of the log. A Fetch ends at the end of a segment, so that it may take several.
_PIECE_BYTES, _PARTS, _PIECES, _ENOUGH = 1 << 19, 16, 3, 1_000
_TAIL_RECORDS = 2_000


def read_sizes(
    connections: Mapping[int, BrokerConnection],
    places: Mapping[TopicPartition, tuple[int, tuple[int, ...]]],
    segment_bytes: int,
    deadline: Deadline,
) -> tuple[OffsetsLogSize, ...]:
    """Returns the sizes; empty for brokers that refuse or fail. `places` is {partition: (leader, replicas)}."""
    # Questions of their own: a broker that refuses them has not failed as a source.
    questions, hosted = Questions(), dict[int, list[TopicPartition]]()
    for tp, (_, replicas) in places.items():
        for broker in replicas:
            hosted.setdefault(broker, []).append(tp)
    led = {tp: leader for tp, (leader, _) in places.items()}
    tasks = [
        questions.start(f"broker {b}", _asking(connections[b], b, tuple(tps), led, segment_bytes, deadline))
        for b, tps in hosted.items()
        if b in connections
    ]
    return tuple(sorted(size for task in tasks for size in task.result(deadline) or ()))


def _asking(
    line: BrokerConnection,
    broker: int,
    tps: tuple[TopicPartition, ...],
    led: Mapping[TopicPartition, int],
    segment_bytes: int,
    deadline: Deadline,
) -> Callable[[], list[OffsetsLogSize]]:
    return lambda: _read(line, broker, tps, led, segment_bytes, deadline)


def _read(
    line: BrokerConnection,
    broker: int,
    tps: tuple[TopicPartition, ...],
    led: Mapping[TopicPartition, int],
    segment_bytes: int,
    deadline: Deadline,
) -> list[OffsetsLogSize]:
    hosted = frozenset(tps)
    _, dirs = line.call(requests.describe_log_dirs(with_room=False, tps=tps), resources.log_dirs, deadline)
    sizes = {tp: size for each in dirs if not each.error for tp, size in each.sizes.items() if tp in hosted}
    large = [tp for tp in tps if led[tp] == broker and should_be_compacted(sizes.get(tp, 0), segment_bytes)]
    sampled = sorted(large, key=lambda tp: -sizes[tp])[:MOST_SAMPLED]
    found = {tp: OffsetsLogSize(tp.partition, broker, size) for tp, size in sizes.items()}
    if sampled:
        asked = [requests.list_offsets(tuple(sampled), when) for when in (requests.EARLIEST, requests.LATEST)]
        starts, ends = line.call_many(asked, responses.list_offsets, deadline)
        for tp in sampled:
            if tp in starts and tp in ends and not (starts[tp].error or ends[tp].error):
                found[tp] = _sampled(line, tp, (starts[tp].offset, ends[tp].offset), found[tp], deadline)
    return list(found.values())


def _sampled(
    line: BrokerConnection, tp: TopicPartition, log: tuple[int, int], size: OffsetsLogSize, deadline: Deadline
) -> OffsetsLogSize:
    """Reads a piece of the log that the cleaner of a healthy broker has compacted; `log` is its start and end.

    Behind its first part, a log that is not compacted is dense: as many records as offsets. So the size of a record at
    the end of the log leads from the end to the offset behind which SAMPLED_SHARE of the bytes are, if all are dense.
    """
    (start, end), most = log, min(_PIECE_BYTES, size.size // _PARTS)
    tail = _piece(line, tp, max(start, end - _TAIL_RECORDS), end, most, deadline)
    if tail is None:
        return size
    at = max(start, end - int(SAMPLED_SHARE * size.size / tail.record_bytes))
    found = _piece(line, tp, at, end, most, deadline)
    if found is None:
        return size
    behind = int((end - found.first) * found.record_bytes)
    return size._replace(records=found.records, keys=len(found.keys), last_ms=found.last_ms, behind=behind)


@dataclass(frozen=True, slots=True)
class _Piece:
    first: int
    records: int
    keys: frozenset[bytes | None]
    last_ms: int
    record_bytes: float


def _piece(
    line: BrokerConnection, tp: TopicPartition, at: int, end: int, most: int, deadline: Deadline
) -> _Piece | None:
    """Returns records from this offset on, across the end of a segment; None if there are none, or they are unread."""
    first, count, keys, last_ms, size = -1, 0, set[bytes | None](), -1, 0
    for _ in range(_PIECES):
        piece = line.call(requests.fetch(tp, at, most), responses.fetch, deadline)
        before = at
        for batch, raw in batches_in(piece.batches):
            at = batch.last + 1
            if batch.control:
                continue
            try:
                require_readable(batch)
                rows = list(records(batch, raw))
            except (UnreadBatchError, ProtocolError):
                return None
            first, last_ms = batch.base if first < 0 else first, batch.last_ms
            count, size = count + len(rows), size + batch.size
            keys.update(row.key for row in rows)
        if count >= _ENOUGH or at >= end or at == before:
            break
    return _Piece(first, count, frozenset(keys), last_ms, size / count) if count else None
