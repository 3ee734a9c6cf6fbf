"""States of transactional ids, as `TransactionLogValue` of Kafka writes them."""

from __future__ import annotations

import pytest

from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.records import Record
from kfix.core.kafka.transactions import transaction_state
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import TransactionState
from tests.each import for_each
from tests.wire import Writer

KEY = Writer().i16(0).string("ledger").done()


def plain(status, topics=(("orders", [0, 2]),)):
    head = Writer().i16(0).i64(4000).i16(3).i32(900_000).i8(status)
    rows = None if topics is None else list(topics)
    return head.array(rows, lambda w, row: w.string(row[0]).array(row[1], Writer.i32)).i64(1_005).i64(1_000).done()


def flexible(status):
    head = Writer().i16(1).i64(4000).i16(3).i32(900_000).i8(status)
    one = [("orders", [0, 2])]
    head.compact_array(one, lambda w, row: w.compact_string(row[0]).compact_array(row[1], Writer.i32).no_tags())
    return head.i64(1_005).i64(1_000).no_tags().done()


@for_each(("status", "word"), [(1, "Ongoing"), (3, "PrepareAbort"), (5, "CompleteAbort"), (77, "status 77")])
@for_each("encoded", [plain, flexible])
def test_both_encodings_give_the_same_state(encoded, status, word):
    found = transaction_state(Record(KEY, encoded(status)))
    tps = (TopicPartition("orders", 0), TopicPartition("orders", 2))
    assert found == ("ledger", TransactionState("ledger", 4000, 3, 900_000, word, 1_000, tps, 1_005))


def test_an_id_without_a_transaction_has_no_time_at_which_it_ends():
    state = TransactionState("ledger", 4000, 3, 900_000, "Empty", -1)
    assert (state.ends_by_ms, state._replace(started_ms=7).ends_by_ms) == (None, 900_007)
    assert state._replace(started_ms=2**62).ends_by_ms is None
    name, found = transaction_state(Record(KEY, plain(0, topics=None)))
    assert (name, found.status) == ("ledger", "Empty")


def test_a_deleted_id_and_records_of_other_versions_are_no_state():
    assert transaction_state(Record(KEY, None)) == ("ledger", None)
    assert transaction_state(Record(Writer().i16(9).string("x").done(), plain(1))) is None
    assert transaction_state(Record(KEY, Writer().i16(9).done())) is None
    assert transaction_state(Record(None, plain(1))) is None


@pytest.mark.parametrize("end", [1, 8, 20, 40])
def test_a_record_that_is_cut_off_is_no_state(end):
    with pytest.raises(ProtocolError):
        transaction_state(Record(KEY, plain(1)[:end]))
