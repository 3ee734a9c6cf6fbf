"""Reads how large the replicas of the offsets partitions are, and the beginning of those that should be compacted.

The offsets of a log do not show it: its log start offset stays 0 whether it is compacted or not. Keys that repeat at
its beginning do, since compaction leaves one record for each key (docs/facts/consumer-groups.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.adapters.collect.tasks import Questions
from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import requests, resources, responses
from kfix.adapters.kafka.batches import batches_in
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.records import UnreadBatchError, records, require_readable
from kfix.derive.compaction import should_be_compacted
from kfix.model.cluster.offsets_size import OffsetsLogSize
from kfix.model.cluster.snapshot import TopicPartition

#: Bytes of the beginning of a log that are read, and most logs of a broker whose beginning is read, largest first.
_SAMPLE_BYTES, MOST_SAMPLED = 1 << 18, 20


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
    _, dirs = line.call(requests.describe_log_dirs(with_room=False, tps=tps), resources.log_dirs, deadline)
    sizes = {tp: size for each in dirs if not each.error for tp, size in each.sizes.items()}
    large = [tp for tp in tps if led[tp] == broker and should_be_compacted(sizes.get(tp, 0), segment_bytes)]
    sampled = sorted(large, key=lambda tp: -sizes[tp])[:MOST_SAMPLED]
    found = {tp: OffsetsLogSize(tp.partition, broker, size) for tp, size in sizes.items()}
    if sampled:
        starts = line.call(requests.list_offsets(tuple(sampled), requests.EARLIEST), responses.list_offsets, deadline)
        for tp in sampled:
            if tp in starts and not starts[tp].error:
                found[tp] = _with_beginning(line, tp, starts[tp].offset, found[tp], deadline)
    return list(found.values())


def _with_beginning(
    line: BrokerConnection, tp: TopicPartition, start: int, size: OffsetsLogSize, deadline: Deadline
) -> OffsetsLogSize:
    piece = line.call(requests.fetch(tp, start, _SAMPLE_BYTES), responses.fetch, deadline)
    count, keys, last_ms = 0, set[bytes | None](), -1
    for batch, raw in batches_in(piece.batches):
        if batch.control:
            continue
        try:
            require_readable(batch)
            for record in records(batch, raw):
                count += 1
                keys.add(record.key)
        except UnreadBatchError:
            return size
        last_ms = batch.last_ms
    return size._replace(records=count, keys=len(keys), last_ms=last_ms) if count else size
