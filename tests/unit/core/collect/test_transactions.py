"""Who holds a last stable offset: the batch there, and the log of the transaction coordinators."""

import struct
import time
from dataclasses import replace

import pytest

from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.collect.transactions import (
    ask_held,
    ask_marker,
    ask_only_markers,
    ask_open_batch,
    ask_served,
    ask_transaction,
    name_producers,
    open_producers,
    read_transactions,
    still_held,
    why_unjudged,
)
from kfix.core.errors import UnreachableError
from kfix.core.kafka.records import Record
from kfix.core.kafka.requests import FetchedRecords, PartitionOffset
from kfix.core.kafka.transactions import DESCRIBE_PRODUCERS, DescribedProducers, ProducerState
from kfix.core.snapshot.snapshot import OffsetsLog, OpenTransaction, PartitionView, TopicPartition
from kfix.core.snapshot.transactions import OpenBatch, TransactionLog, TransactionState
from kfix.core.timing import Deadline
from tests.unit.diagnostics.group_readings import reading
from tests.wire import Writer

TP = TopicPartition("orders", 0)
LOG = [TopicPartition("__transaction_state", number) for number in range(2)]
STATE = TransactionState("ledger", 4000, 3, 60_000, "Ongoing", 1_000, (), 1_000)
LED = PartitionView(1, 0, (1,), (1,), ())
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


def varint(number):
    value, out = number << 1 if number >= 0 else (-number << 1) - 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def batch(base, *rows, kind=0, producer=-1, epoch=-1, at_ms=1_000):
    """Returns a record batch (magic 2) of these records."""
    body = b""
    for delta, row in enumerate(rows):
        sized = [varint(-1) if each is None else varint(len(each)) + each for each in (row.key, row.value)]
        record = b"\0" + varint(0) + varint(delta) + b"".join(sized) + varint(0)
        body += varint(len(record)) + record
    last = len(rows) - 1
    head = struct.pack(">hiqqqhii", kind, last, at_ms, at_ms, producer, epoch, -1, len(rows))
    rest = struct.pack(">ibI", 0, 2, 0) + head + body
    return struct.pack(">qi", base, len(rest)) + rest


def state(base, name="ledger", producer=4000, status=1):
    value = Writer().i16(0).i64(producer).i16(3).i32(60_000).i8(status).i32(-1).i64(1_000).i64(1_000).done()
    return batch(base, Record(Writer().i16(0).string(name).done(), value))


class Line:
    """A leader that gives these answers, one for each request, in order."""

    endpoint = "127.0.0.1:9092"

    def __init__(self, *answers):
        self.answers = list(answers)

    def call(self, *_):
        return self.answers.pop(0)

    def call_many(self, asked, *_):
        return [self.answers.pop(0) for _ in asked]


def offsets(*each):
    return [{tp: PartitionOffset(0, offset) for tp, offset in zip(LOG, (at, 0), strict=True)} for at in each]


def fetched(*batches, error=0):
    return FetchedRecords(error, 9, 0, b"".join(batches))


def in_time():
    return Deadline.after(5)


def held(high=9, stable=4, fetch=None):
    ends = [{TP: PartitionOffset(0, high)}, {TP: PartitionOffset(0, stable)}]
    return ask_open_batch(Line(*ends, *([] if fetch is None else [fetch])), TP, in_time())


def test_the_batch_at_the_last_stable_offset_names_producer_and_epoch():
    open_one = batch(4, Record(b"k", b"v"), kind=_TRANSACTIONAL, producer=4000, epoch=3, at_ms=77)
    assert held(fetch=fetched(batch(0, *[Record(b"k", b"v")] * 4), open_one)) == OpenBatch(4, 4000, 3, 77)
    assert held(stable=9) is None


@pytest.mark.parametrize(
    ("fetch", "why"),
    [
        (fetched(error=29), "TOPIC_AUTHORIZATION_FAILED"),
        (fetched(), "no whole batch"),
        (fetched(batch(4, Record(b"k", b"v"))), "not belong to a transaction"),
        (
            fetched(batch(4, Record(b"k", b"v"), kind=_TRANSACTIONAL | _CONTROL, producer=1)),
            "not belong to a transaction",
        ),
    ],
)
def test_without_such_a_batch_the_reason_is_given(fetch, why):
    with pytest.raises(UnreachableError, match=why):
        held(fetch=fetch)


MARKER = {"kind": _TRANSACTIONAL | _CONTROL, "producer": 4000, "epoch": 3}


@pytest.mark.parametrize(
    ("answer", "only"),
    [
        (fetched(batch(22, Record(b"k", b"v")), batch(23, Record(b"", b""), **MARKER)), True),
        (fetched(batch(23, Record(b"", b""), **MARKER), batch(24, Record(b"k", b"v"))), True),
        (fetched(batch(23, Record(b"k", b"v"))), False),
        (fetched(batch(23, Record(b"", b""), **MARKER)[:-1]), False),
        (fetched(error=29), False),
        (fetched(), False),
    ],
)
def test_markers_alone_are_no_lag(answer, only):
    """Offset 23 is committed, 24 the end: what came later, or lies before, counts for nothing."""
    assert ask_only_markers(Line(answer), {TP: (23, 24)}, in_time()) == ({TP} if only else set())


def test_a_record_behind_a_marker_is_lag():
    both = fetched(batch(23, Record(b"", b""), **MARKER), batch(24, Record(b"k", b"v")))
    assert ask_only_markers(Line(both), {TP: (23, 25)}, in_time()) == set()
    first = fetched(batch(23, Record(b"", b""), **MARKER))
    assert ask_only_markers(Line(first), {TP: (23, 25)}, in_time()) == set(), "the answer ends before the end"


def test_the_last_record_of_an_id_counts():
    line = Line(*offsets(0, 3), fetched(state(0), state(1, "other", 7), state(2, status=4)))
    assert ask_transaction(line, LOG[0], "ledger", 1_000, in_time()) == STATE._replace(status="CompleteCommit")
    line = Line(*offsets(0, 1), fetched(state(0, "other", 7)))
    assert ask_transaction(line, LOG[0], "ledger", 1_000, in_time()) is None


@pytest.mark.parametrize("fetch", [fetched(error=6), fetched(state(0)[:-3])])
def test_a_log_that_was_not_read_to_its_end_shows_no_state(fetch):
    with pytest.raises(UnreachableError, match="__transaction_state-0"):
        ask_transaction(Line(*offsets(0, 2), fetch), LOG[0], "ledger", 1_000, in_time())


def test_producers_are_named_and_what_was_not_read_is_the_reason_why_one_is_not():
    def named(leaders, *answers, producers=None):
        brokers = Brokers(Questions(), {1: Line(*answers)}, in_time())
        return name_producers(brokers, leaders, 2, producers or {4000: 1_000})

    answers = (*offsets(0, 1), fetched(state(0)))
    whole = TransactionLog((STATE,), records=(STATE,), whole=frozenset({4000}), unread=False)
    assert named(dict.fromkeys(LOG, LED), *answers) == whole
    # Found although one partition has no leader: nothing is missing.
    assert named({LOG[0]: LED}, *answers) == replace(whole, unread=True)
    # Another leader since then may have lost records; a missing offset shows that compaction has removed some.
    assert not named(dict.fromkeys(LOG, LED._replace(leader_epoch=1)), *answers).whole
    assert not named(dict.fromkeys(LOG, LED), *offsets(0, 2), fetched(state(1))).whole
    log = named({LOG[0]: LED}, *offsets(0, 1), fetched(state(0, "other", 7)))
    assert (log.found, log.error) == ((), "1 partition of 2 of __transaction_state not read: no leader")
    log = named(dict.fromkeys(LOG, LED), *offsets(0, 1), fetched(error=29))
    assert log.error.endswith("not read: TOPIC_AUTHORIZATION_FAILED")
    log = named(dict.fromkeys(LOG, LED._replace(leader=9)))
    assert log.error.endswith("its leader 9 does not respond")
    assert "has this producer id" in named(dict.fromkeys(LOG, LED), *offsets(1, 1)).error
    assert "does not exist" in name_producers(Brokers(Questions(), {}, in_time()), {}, 0, {4000: 1_000}).error


OLD = OpenBatch(4, 4000, 3, 77)


@pytest.mark.parametrize("described", [None, 77, -1])
def test_a_batch_that_no_new_transaction_holds_is_read_at_its_leader(described):
    """Brokers before 3.0 do not describe producers; the batch itself shows the time."""
    ends = ({TP: PartitionOffset(0, 9)}, {TP: PartitionOffset(0, 4)})
    batches = fetched(batch(4, Record(b"k", b"v"), kind=_TRANSACTIONAL, producer=4000, epoch=3, at_ms=77))
    producers = {TP: DescribedProducers(0, (ProducerState(4000, 3, described or 0, -1, 4 if described else -1),))}
    line = Line(*ends, *([] if described is None else [producers]), batches)
    line.supports = lambda *_: described is not None
    assert ask_held(line, (TP,), in_time()) == {TP: OLD}


def test_a_partition_that_is_not_held_or_only_by_a_new_transaction_costs_no_fetch():
    now = int(time.time() * 1000)
    line = Line({TP: PartitionOffset(0, 9)}, {TP: PartitionOffset(0, 9)})
    assert ask_held(line, (TP,), in_time()) == {}
    new = {TP: DescribedProducers(0, (ProducerState(4000, 3, now, -1, 4),))}
    line = Line({TP: PartitionOffset(0, 9)}, {TP: PartitionOffset(0, 4)}, new)
    line.supports = lambda *_: True
    assert ask_held(line, (TP,), in_time()) == {}


def read(*answers):
    return read_transactions(
        Brokers(Questions(), {1: Line(*answers)}, in_time()), {LOG[0]: LED, LOG[1]: LED}, 2, {4000: 1_000}
    )


def test_a_producer_without_a_record_since_its_own_time_is_searched_for_in_the_whole_log():
    """A producer sets the times of its records: its transaction may have begun long before them."""
    log = read(*offsets(1, 1), *offsets(0, 1), fetched(state(0)))
    assert (log.records, log.unread, log.found) == ((STATE,), False, ())
    assert read(*offsets(1, 1), *offsets(0, 1), fetched(error=6)).unread


def test_what_the_log_does_not_show_is_unknown_only_if_a_part_of_it_was_not_read():
    assert "orders-0 hang: no leader" in why_unjudged({TP: OLD}, TransactionLog(error="no leader"))
    assert why_unjudged({TP: OLD}, TransactionLog(records=(STATE,))) == ""
    assert why_unjudged({TP: OLD}, TransactionLog(unread=False)) == ""
    assert "not read to its end" in why_unjudged({TP: OLD}, TransactionLog())


def test_a_batch_that_may_not_be_read_is_unknown():
    """Without the right to read the topic, nothing shows whether the transaction is an ordinary one."""
    line = Line({TP: PartitionOffset(0, 9)}, {TP: PartitionOffset(0, 4)}, fetched(error=29))
    line.supports = lambda *_: False
    refused = ask_held(line, (TP,), in_time())
    assert "orders-0: Fetch: TOPIC_AUTHORIZATION_FAILED" in why_unjudged(refused, TransactionLog(unread=False))
    line = Line({TP: PartitionOffset(0, 9)}, {TP: PartitionOffset(0, 4)}, fetched(error=6))
    line.supports = lambda *_: False
    assert ask_held(line, (TP,), in_time()) == {}


def again(status, *answers):
    lines = Line(*answers)
    lines.supports = lambda *_: False
    log = TransactionLog(records=(STATE._replace(status=status),), unread=False)
    return still_held(Brokers(Questions(), {1: lines}, in_time()), {TP: LED}, {TP: OLD}, log).held


def test_only_what_is_open_before_and_after_its_coordinator_has_ended_it_hangs():
    ends = ({TP: PartitionOffset(0, 9)}, {TP: PartitionOffset(0, 4)})
    batches = fetched(batch(4, Record(b"k", b"v"), kind=_TRANSACTIONAL, producer=4000, epoch=3, at_ms=77))
    assert again("CompleteCommit", *ends, batches) == {TP: OLD}
    assert again("CompleteCommit", *ends, fetched()) == {}
    assert again("Ongoing") == {}
    assert again("PrepareCommit") == {}


def marked(*answers, newer=True, describes=True):
    line = Line(*answers)
    line.supports = lambda api, *_: describes if api == DESCRIBE_PRODUCERS else newer
    return ask_marker(line, TP, OLD, in_time())


def test_a_marker_has_the_epoch_of_the_last_one_if_the_leader_reports_it():
    def state(producer, epoch):
        return {TP: DescribedProducers(0, (ProducerState(producer, 3, 77, epoch, 4),))}

    assert marked(state(4000, 7)) == (True, 7)
    assert marked(state(4001, 7)) == (True, -1)
    assert marked(newer=False, describes=False) == (False, None)
    with pytest.raises(UnreachableError, match="DescribeProducers: TOPIC_AUTHORIZATION_FAILED"):
        marked({TP: DescribedProducers(29, ())})
    with pytest.raises(UnreachableError, match="an empty response"):
        marked({})


def test_a_consumer_with_read_committed_gets_what_a_fetch_returns():
    two = batch(4, Record(b"k", b"v"), Record(b"k", b"v"))
    assert ask_served(Line(fetched(two)), TP, 4, in_time()) == 6
    assert ask_served(Line(fetched()), TP, 4, in_time()) == 4
    with pytest.raises(UnreachableError, match="Fetch: NOT_LEADER"):
        ask_served(Line(fetched(error=6)), TP, 4, in_time())


def test_the_producers_of_all_open_transactions_are_asked_for():
    log = OffsetsLog(0, 1, 0, 9, 5, 5, 9, (), (OpenTransaction(7, 2_000, ("g",)), OpenTransaction(8, 3_000, ("g",))))
    one = reading(held={TP: OpenBatch(4, 7, 0, 1_500), LOG[0]: OpenBatch(4, -1, -1, -1, "Fetch: error")})
    assert open_producers((log,), (one,), 9.0) == {7: 1_500, 8: 3_000}


def test_a_transaction_of_the_future_by_its_producer_is_searched_for_in_the_last_minutes() -> None:
    """A producer sets the times of its records; the coordinator uses its own clock."""
    log = OffsetsLog(3, 1, 0, 9, 5, 5, 9, (), (OpenTransaction(7, 99_000_000, ("g",)),))
    assert open_producers((log,), (), 2_000.0) == {7: 1_100_000}
