import pytest
from kafka.protocol.consumer import group

from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.connection import _frame
from kfix.adapters.kafka.requests import Request
from kfix.errors import ReadOnlyViolationError, UnreachableError
from kfix.lab.clients import asking
from kfix.model.cluster.snapshot import TopicPartition


def test_the_commit_has_the_bytes_of_kafkas_own_schema():
    topic = group.OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topic.OffsetCommitRequestPartition
    theirs = group.OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        member_id="",
        retention_time_ms=-1,
        topics=[topic(name="t", partitions=[partition(partition_index=3, committed_offset=10, committed_metadata="")])],
    )
    theirs.with_header(correlation_id=7, client_id="kfix")
    ours = _frame(asking.offset_commit("g", {TopicPartition("t", 3): 10}), 7)
    assert ours == bytes(theirs.encode(version=2, header=True, framed=True))


def test_the_answer_is_its_first_error():
    def answer(*errors):
        return ByteReader(Writer().array(errors, lambda w, error: w.string("t").i32(1).i32(0).i16(error)).done())

    assert asking.committed(answer(0, 0)) == 0
    assert asking.committed(answer(0, 19, 16)) == 19


def test_a_line_of_the_lab_lets_through_its_one_change_and_no_other():
    with pytest.raises(ReadOnlyViolationError):
        asking.ask("127.0.0.1:1", Request(19, 1, b""), lambda _: None, 1.0)
    with pytest.raises(UnreachableError, match="connection refused"):
        asking.ask("127.0.0.1:1", asking.offset_commit("g", {}), asking.committed, 1.0)
