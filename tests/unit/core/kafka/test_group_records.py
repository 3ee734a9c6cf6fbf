"""Which records a coordinator of Kafka 4 cannot load, and the batch that deletes one of them."""

from __future__ import annotations

import time

import pytest
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecords

from kfix.core.kafka import requests
from kfix.core.kafka.batches import Batch, batches_in
from kfix.core.kafka.codec import ByteReader
from kfix.core.kafka.connection import _frame
from kfix.core.kafka.group_records import LoadReplay, count_key
from kfix.core.kafka.records import Record, records, tombstone
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay, parse_conflicts
from kfix.core.snapshot.snapshot import TopicPartition
from tests.each import for_each
from tests.wire import Writer

TP = TopicPartition("__consumer_offsets", 3)
BATCH = Batch(0, 0, 100, 100, 0, 2, 0, 0, 0, 0, -1, None)


def key(kind: int, *names: str) -> bytes:
    writer = Writer().i16(kind)
    for name in names:
        writer.string(name)
    return writer.done()


def classic(protocol: str = "consumer", version: int = 3) -> bytes:
    return Writer().i16(version).string(protocol).i32(0).string(None).string(None).i64(0).i32(0).done()


NEW = b"\0\0\0\0\0\7\0"


def replayed(*rows: tuple[bytes, bytes | None]) -> LoadReplay:
    found = LoadReplay()
    found.add(BATCH, [Record(name, value, n) for n, (name, value) in enumerate(rows)])
    return found


@for_each("value", [NEW, None])
@for_each("kind", [3, 5, 8, 16])
def test_a_record_of_the_consumer_protocol_contradicts_a_classic_group_even_without_a_value(
    kind: int, value: bytes | None
) -> None:
    names = ("g",) if kind == 3 else ("g", "member")
    found = replayed((key(2, "g"), classic()), (key(2, "h"), classic()), (key(kind, *names), value))
    [conflict] = found.conflicts.values()
    assert (conflict.group, conflict.kind, conflict.offset, conflict.classic) == ("g", kind, 102, 100)


def test_what_loads_is_no_conflict() -> None:
    was_new = replayed((key(3, "g"), NEW), (key(3, "g"), None), (key(2, "g"), classic()))
    upgraded = replayed((key(2, "g"), classic()), (key(2, "g"), None), (key(3, "g"), NEW))
    offsets_only = replayed((key(2, "g"), classic("")), (key(3, "g"), NEW))
    unknown_type = replayed((key(2, "g"), classic()), (key(99, "g"), NEW))
    for found in (was_new, upgraded, offsets_only, unknown_type):
        assert (found.conflicts, found.unknown) == ({}, "")


def test_the_first_record_of_the_key_decides_where_to_search_for_it() -> None:
    found = replayed((key(3, "g"), NEW), (key(2, "g"), classic()), (key(3, "g"), NEW), (key(3, "g"), None))
    [conflict] = found.conflicts.values()
    assert (conflict.first, conflict.offset) == (100, 102)


@pytest.mark.parametrize("kind", [1, 2])
def test_a_newer_version_is_unknown(kind: int) -> None:
    name = key(2, "g") if kind == 2 else Writer().i16(1).string("g").string("orders").i32(0).done()
    assert "offset 100 has a record in a version" in replayed((name, b"\0\x09")).unknown


def test_conflicts_are_a_fact_that_is_read_back_and_many_are_counted() -> None:
    rows = [(key(2, "g"), classic()), *((key(5, "g", f"m{n}"), NEW) for n in range(9))]
    conflicts = tuple(replayed(*rows).conflicts.values())
    text = OffsetsReplay(TP, conflicts).text
    assert text is not None
    read = parse_conflicts(text)
    assert (read.named, read.count, read.unknown) == (conflicts[:5], 9, "")
    assert OffsetsReplay(TP).text is None
    for broken in ("[]", "{}", '{"conflicts":[{"x":1}],"count":1,"unknown":""}', "x"):
        with pytest.raises(ValueError, match=r".*"):
            parse_conflicts(broken)


def test_records_of_a_key_are_counted_and_the_last_one_decides() -> None:
    rows = [Record(b"a", b"1"), Record(b"b", b"1"), Record(b"a", None)]
    assert count_key(KeyLeft(), b"a", rows) == KeyLeft(1, 1, deleted=True)
    assert count_key(KeyLeft(), b"a", [*rows, Record(b"a", b"2")]) == KeyLeft(2, 1, deleted=False)
    assert count_key(KeyLeft(), b"c", rows) == KeyLeft()


@pytest.mark.parametrize("size", [1, 63, 64, 300, 20_000])
def test_a_tombstone_is_read_by_kafka_python_and_by_us(size: int) -> None:
    now, name = int(time.time() * 1000), bytes(size)
    batch = tombstone(name, now)
    [theirs] = MemoryRecords(batch)
    assert theirs.validate_crc()
    [record] = theirs
    assert (record.key, record.value, record.timestamp) == (name, None, now)
    [(ours, raw)] = batches_in(batch)
    assert (ours.size, [*records(ours, raw)]) == (len(batch), [Record(name, None)])


def test_the_produce_request_has_the_same_bytes_and_its_client_id() -> None:
    topic = ProduceRequest.TopicProduceData
    batch = tombstone(b"key", 1)
    message = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=4000,
        topic_data=[
            topic(name=TP.topic, partition_data=[topic.PartitionProduceData(index=TP.partition, records=batch)])
        ],
    )
    message.with_header(correlation_id=7, client_id="__admin_client")
    ours = requests.produce(TP, batch, 4000)
    assert _frame(ours, 7) == bytes(message.encode(version=ours.version, header=True, framed=True))


@pytest.mark.parametrize("error", [0, 17, 6])
def test_a_produce_response_has_the_error_of_its_partition(error: int) -> None:
    writer = Writer().i32(1).string(TP.topic).i32(1).i32(TP.partition).i16(error).i64(7).i64(-1).i64(0).i32(0)
    asked = requests.produce(TP, b"", 1)
    assert asked.decode(ByteReader(writer.done())).error == error
    assert asked.decode(ByteReader(Writer().i32(0).i32(0).done())).error == -1
