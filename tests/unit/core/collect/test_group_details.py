"""One group in depth: each question fails on its own, and what was not read is named with its error."""

import pytest
from kafka.protocol import admin, consumer
from kafka.protocol import metadata as meta
from kafka.protocol.consumer import group

from kfix.core.collect.group_details import leaders_of, read_group, read_positions
from kfix.core.collect.probes import fetch_offsets
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.group_reading import GroupPartition
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker
from tests.unit.diagnostics.clusters import base

TP = TopicPartition("orders", 0)
#: As of a broker before 2.5: it cannot be asked for stable offsets.
VERSIONS = ALL_VERSIONS | {9: (0, 5), 10: (0, 2), 15: (0, 4)}


def described(error=0):
    one = admin.DescribeGroupsResponse.DescribedGroup(
        error_code=error,
        group_id="g",
        group_state="Empty",
        protocol_type="consumer",
        protocol_data="",
        members=[],
        authorized_operations=set(),
    )
    return admin.DescribeGroupsResponse(throttle_time_ms=0, groups=[one])


def fetched(offset=7, error=0):
    topic = group.OffsetFetchResponse.OffsetFetchResponseTopic
    one = topic.OffsetFetchResponsePartition(
        partition_index=0, committed_offset=offset, committed_leader_epoch=-1, metadata="", error_code=0
    )
    return group.OffsetFetchResponse(
        throttle_time_ms=0, topics=[topic(name="orders", partitions=[one])], error_code=error
    )


def listed(offset=9, error=0):
    topic = consumer.ListOffsetsResponse.ListOffsetsTopicResponse
    one = topic.ListOffsetsPartitionResponse(
        partition_index=0, error_code=error, timestamp=-1, offset=offset, leader_epoch=1
    )
    return consumer.ListOffsetsResponse(throttle_time_ms=0, topics=[topic(name="orders", partitions=[one])])


def read(*, find=0, describe=None, offsets=None, logs=None):
    """Returns the reading of group g at a broker that gives these answers and coordinates the group itself."""
    nothing = consumer.FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[])
    made = {15: describe or described(), 9: offsets or fetched(), 2: logs or listed(), 1: nothing}
    broker = FakeBroker({key: lambda *_, said=said: said for key, said in made.items()}, VERSIONS)
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        broker.answers[10] = lambda *_: meta.FindCoordinatorResponse(
            throttle_time_ms=0, error_code=find, error_message=None, node_id=1, host=endpoint.host, port=endpoint.port
        )
        return read_group(Brokers(Questions(), {1: line}, Deadline.after(5)), "g", lambda tps: dict.fromkeys(tps, 1))


def test_everything_is_read_and_an_old_broker_is_named_as_the_reason_of_what_is_not():
    found = read()
    assert (found.coordinator, found.unconnected, found.state, found.members) == (1, "", "Empty", ())
    assert found.partitions == {TP: GroupPartition(7, 0, 9, 9, 9, "")}
    assert set(found.errors) == {"stable offsets"}


def test_each_question_fails_alone():
    found = read(describe=described(error=30))
    assert found.members is None
    assert found.errors["group members"] == "DescribeGroups: GROUP_AUTHORIZATION_FAILED"
    assert found.partitions is not None
    found = read(offsets=fetched(error=16))
    assert (found.partitions, found.members) == (None, ())
    assert found.errors["group offsets"] == "OffsetFetch: NOT_COORDINATOR"
    found = read(logs=listed(error=6))
    assert found.partitions == {TP: GroupPartition(7, 0, -1, -1, -1, "NOT_LEADER_OR_FOLLOWER")}


@pytest.mark.parametrize(("offset", "count"), [(0, 1), (-1, 0)])
def test_a_committed_offset_of_0_counts(offset, count):
    broker = FakeBroker({9: lambda *_: fetched(offset)}, VERSIONS)
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        [probe] = fetch_offsets(line, [CoordinatorProbe("g", 0, 0, 1, None)], Deadline.after(5))
    assert (probe.committed, probe.answers) == (count, True)


def test_without_a_coordinator_nothing_else_is_asked():
    found = read(find=15)
    assert (found.coordinator, found.endpoint, found.unconnected, found.members, found.partitions) == (None,) * 5
    assert found.errors == {"group coordinator": "COORDINATOR_NOT_AVAILABLE"}


def test_partitions_without_a_leader_are_not_asked_for():
    snapshot = base().topic("logs", 1, replicas=[[1]]).kill(1).snapshot()
    tps = [TopicPartition("logs", 0), TopicPartition("orders", 1), TopicPartition("nosuch", 0)]
    assert leaders_of(tps, snapshot.zookeeper, snapshot.views).keys() == {TopicPartition("orders", 1)}
    assert leaders_of(tps, None, snapshot.views).keys() == {TopicPartition("orders", 1)}


def test_the_offsets_of_all_groups_are_read_at_once_and_a_group_that_is_refused_has_its_error():
    answers = [fetched(), fetched(error=30), fetched(offset=12)]
    broker = FakeBroker({9: lambda *_: answers.pop(0), 2: lambda *_: listed()}, VERSIONS)
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        brokers = Brokers(Questions(), {1: line}, Deadline.after(5))
        found = read_positions(brokers, {"a": 1, "b": 1, "c": 1, "d": 2}, lambda tps: dict.fromkeys(tps, 1))
    positions = {each.group: each.partitions for each in found}
    assert positions == {
        "a": {TP: GroupPartition(7, 0, 9, 9, 9, "")},
        "b": None,
        "c": {TP: GroupPartition(12, 0, 9, 9, 9, "")},
        "d": None,
    }
    assert {each.group: each.errors["group offsets"] for each in found if each.errors} == {
        "b": "OffsetFetch: GROUP_AUTHORIZATION_FAILED",
        "d": "broker 2 does not respond to kfix",
    }
    assert not any(each.needs_second for each in found)
