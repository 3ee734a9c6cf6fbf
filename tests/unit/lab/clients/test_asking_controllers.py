"""The answers of KRaft that the lab reads, written byte by byte as brokers and controllers send them."""

from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.lab.clients.asking_controllers import Eligible, _eligible, _features_epoch, _quorum
from kfix.model.cluster.snapshot import TopicPartition


def replicas(w, ends):
    w.compact_array(list(ends.items()), lambda each, pair: each.i32(pair[0]).i64(pair[1]).no_tags())


def quorum_answer(partition_error):
    w = Writer().i16(0).uvarint(2).compact_string("__cluster_metadata").uvarint(2)
    w.i32(0).i16(partition_error).i32(101).i32(7).i64(400)
    replicas(w, {100: 399, 101: 400})
    replicas(w, {1: 398})
    return ByteReader(w.no_tags().no_tags().no_tags().done())


def test_only_the_active_controller_tells_the_quorum():
    active = _quorum(quorum_answer(0))
    assert (active.leader, active.epoch, active.high_watermark) == (101, 7, 400)
    assert (active.log_ends, active.followers) == ({100: 399, 101: 400}, {1: 398})
    assert _quorum(quorum_answer(6)) is None
    assert _quorum(ByteReader(Writer().i16(41).done())) is None


def test_how_far_a_broker_follows_is_read_behind_the_features_that_it_supports():
    # The connection has read the first byte of the error code: the header of this response has no tags.
    w = Writer().i8(0).uvarint(2).i16(18).i16(0).i16(4).no_tags().i32(0)
    w.uvarint(2).uvarint(0).uvarint(3).i8(1).i16(9).uvarint(1).uvarint(8).i64(1234)
    assert _features_epoch(ByteReader(w.done())) == 1234
    without = Writer().i8(0).uvarint(1).i32(0).uvarint(0)
    assert _features_epoch(ByteReader(without.done())) == -1


def test_eligible_replicas_are_read_and_none_where_the_broker_says_null():
    def ids(w, numbers):
        w.compact_array(numbers, Writer.i32)

    w = Writer().i32(0).uvarint(2).i16(0).compact_string("ledger").i64(1).i64(2).i8(0).uvarint(3)
    for index, elr, last in ((0, [2], [3]), (1, None, None)):
        w.i16(0).i32(index).i32(-1).i32(4)
        for each in ([1, 2, 3], [], elr, last, [1]):
            ids(w, each)
        w.no_tags()
    w.i32(0).no_tags().i8(-1).no_tags()
    assert _eligible(ByteReader(w.done())) == {
        TopicPartition("ledger", 0): Eligible((2,), (3,)),
        TopicPartition("ledger", 1): Eligible((), ()),
    }
