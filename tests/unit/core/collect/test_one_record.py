"""Exactly one record of a log, and each place of it where no consumer gets one."""

import struct

import pytest

from kfix.core.collect import one_record
from kfix.core.collect.one_record import ask_record, ask_records_left
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.kafka import records, requests
from kfix.core.kafka.requests import FetchedRecords, PartitionOffset
from kfix.core.snapshot.snapshot import Endpoint, LogEnd, TopicPartition
from kfix.core.timing import Deadline

TP = TopicPartition("orders", 0)
#: The log: records from offset 10 to before 20, the last stable offset is 18.
START, STABLE, HIGH = 10, 18, 20
NOT_LEADER = 6


def varint(value):
    return records._to_varint(value)


def one(delta, key, value, headers=(), time_delta=0):
    def blob(part):
        return varint(-1) if part is None else varint(len(part)) + part

    body = b"\0" + varint(time_delta) + varint(delta) + blob(key) + blob(value) + varint(len(headers))
    body += b"".join(varint(len(name)) + name + blob(held) for name, held in headers)
    return varint(len(body)) + body


def batch(base, *rows, kind=0, last=None, first_ms=1000, last_ms=5000):
    """A batch of magic 2 with a right checksum."""
    delta = len(rows) - 1 if last is None else last
    covered = struct.pack(">hiqqqhii", kind, delta, first_ms, last_ms, -1, -1, -1, len(rows)) + b"".join(rows)
    crc = int(records.google_crc32c.value(covered))
    return struct.pack(">qiibI", base, 9 + len(covered), 7, 2, crc) + covered


class Leader:
    endpoint = Endpoint("localhost", 1)

    def __init__(self, data=b"", error=0):
        self.data, self.error = data, error

    def call(self, request, _deadline):
        assert request.api_key == requests.FETCH
        return FetchedRecords(self.error, HIGH, START, self.data)

    def call_many(self, asked, _deadline):
        if asked[0].api_key == requests.FETCH:
            return [self.call(each, _deadline) for each in asked]
        return [{TP: PartitionOffset(self.error, each)} for each in (START, HIGH, STABLE)[-len(asked) :]]


@pytest.fixture(autouse=True)
def _log(monkeypatch):
    monkeypatch.setattr(one_record, "ask_log_ends", lambda *_: {TP: LogEnd(START, HIGH)})


def read(offset, data=b"", error=0):
    return ask_record(Leader(data, error), TP, offset, Deadline.after(1))


HEADERS = ((b"h", b"\xff\x00"), (b"h", None))


def test_one_record_in_the_middle_of_a_batch_with_its_time_and_headers():
    data = batch(10, one(0, b"a", b"1"), one(1, None, b"\x00\xff", HEADERS, 40), one(2, b"c", None))
    found = read(11, data)
    assert (found.key, found.value, found.headers) == (None, b"\x00\xff", HEADERS)
    assert (found.offset, found.leader_epoch, found.timestamp_ms, found.appended) == (11, 7, 1040, False)
    assert read(12, data).value is None


def test_the_time_of_a_record_that_the_broker_set_is_that_of_its_batch():
    found = read(10, batch(10, one(0, b"a", b"1"), kind=0x08))
    assert (found.timestamp_ms, found.appended) == (5000, True)


def test_the_hash_tells_records_apart_and_not_the_form_of_their_batch():
    alone, among = batch(11, one(0, None, b"x")), batch(10, one(0, None, b"y"), one(1, None, b"x"))
    assert read(11, alone).sha256 == read(11, among).sha256
    assert len({read(11, batch(11, one(0, *kv))).sha256 for kv in ((None, b"x"), (b"", b"x"), (b"x", None))}) == 3


DAMAGED = bytearray(batch(10, one(0, b"a", b"value")))
DAMAGED[-3] ^= 1


@pytest.mark.parametrize(
    ("offset", "data", "words"),
    [
        (9, b"", "below the log start offset 10"),
        (20, b"", "no record at offset 20: the high watermark is 20"),
        (18, b"", "a transaction is open there"),
        (12, batch(14, one(0, b"a", b"1")), "compaction removed it"),
        (11, batch(10, one(0, b"a", b"1"), one(2, b"c", b"3"), last=2), "compaction removed it"),
        (12, b"", "compaction removed it"),
        (10, batch(10, one(0, b"\0\0\0\1", b"\0"), kind=0x30), "end marker of a transaction"),
        (10, bytes(DAMAGED), "its checksum is wrong"),
        (10, batch(10, b"\x7f"), "longer than the batch"),
    ],
)
def test_where_no_consumer_gets_a_record_it_is_refused_with_the_reason(offset, data, words):
    with pytest.raises(RefusedError, match=words):
        read(offset, data)


def test_an_error_of_the_leader_is_no_answer():
    with pytest.raises(UnreachableError, match="NOT_LEADER_OR_FOLLOWER"):
        read(11, error=NOT_LEADER)


@pytest.mark.parametrize(
    ("offset", "data", "left"),
    [
        (HIGH, b"", False),
        (19, batch(19, one(0, b"\0\0\0\1", b"\0"), kind=0x30), False),
        (19, batch(18, one(0, b"a", b"1"), last=1), True),
        (18, batch(18, one(0, b"a", b"1")) + batch(19, one(0, b"\0\0\0\1", b"\0"), kind=0x30), True),
    ],
)
def test_a_marker_of_a_transaction_is_no_record_that_is_left(offset, data, left):
    assert ask_records_left(Leader(data), TP, offset, Deadline.after(1)) is left


def test_a_leader_with_an_error_does_not_show_what_is_left():
    with pytest.raises(UnreachableError, match="NOT_LEADER_OR_FOLLOWER"):
        ask_records_left(Leader(error=NOT_LEADER), TP, 11, Deadline.after(1))
