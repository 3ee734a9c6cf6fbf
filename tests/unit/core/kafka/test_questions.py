"""The state and the committed offsets of a group, as a run reads them before it commits: none, 0, held or refused."""

import pytest
from kafka.protocol.consumer import group

from kfix.core.errors import UnreachableError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.questions import ask_group
from kfix.core.kafka.security import Security
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.collect.test_group_details import described
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker

TPS = TopicPartition("t", 0), TopicPartition("t", 1)


def read(*offsets, error=0, describe=0, versions=(0, 7)):
    """Returns the group whose coordinator answers these (offset, error) of t-0, t-1 and so on."""
    topic = group.OffsetFetchResponse.OffsetFetchResponseTopic
    rows = [
        topic.OffsetFetchResponsePartition(
            partition_index=n, committed_offset=offset, committed_leader_epoch=-1, metadata="", error_code=code
        )
        for n, (offset, code) in enumerate(offsets)
    ]
    said = group.OffsetFetchResponse(throttle_time_ms=0, topics=[topic(name="t", partitions=rows)], error_code=error)
    broker = FakeBroker(
        {9: lambda *_: said, 15: lambda *_: described(describe)}, ALL_VERSIONS | {9: versions, 15: (0, 4)}
    )
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        return ask_group(line, "g", TPS, Deadline.after(3))


def test_an_offset_of_0_is_committed_and_only_minus_1_is_none():
    found = read((0, 0), (-1, 0))
    assert found.committed == {TPS[0]: StoredOffset(0), TPS[1]: None}
    assert (found.state, found.unstable) == ("Empty", ())


def test_an_offset_that_an_open_transaction_holds_is_unstable_and_no_error():
    assert read((5, 0), (-1, 88)).unstable == (TPS[1],)


@pytest.mark.parametrize(
    ("offsets", "refused", "why"),
    [
        ([(5, 0)], {}, "the response lacks a partition"),
        ([(5, 0), (-1, 3)], {}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ([(5, 0), (5, 0)], {"error": 16}, "NOT_COORDINATOR"),
        ([(5, 0), (5, 0)], {"describe": 30}, "GROUP_AUTHORIZATION_FAILED"),
        ([(5, 0), (5, 0)], {"versions": (0, 5)}, "the broker is older than Kafka 2.5"),
    ],
)
def test_a_group_that_is_not_answered_whole_is_unknown(offsets, refused, why):
    with pytest.raises(UnreachableError, match=f"group g: {why}"):
        read(*offsets, **refused)
