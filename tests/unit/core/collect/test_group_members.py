"""The members of a group by DescribeGroups, and those of its last generation by the log of its partition."""

import struct

import pytest
from kafka.protocol import admin, consumer

from kfix.core.collect.group_details import ask_members, read_last_generation
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UnreachableError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_records import MOST_MEMBERS
from kfix.core.kafka.security import Security
from kfix.core.snapshot.group_reading import GroupMember, GroupMembers, LastGeneration, awaited
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from tests.unit.core.disk.building import NOON, batch, group_key, group_value
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker

TP = TopicPartition(OFFSETS_TOPIC, 3)
UNKNOWN = LastGeneration()


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def generation(number, members):
    """A record of group metadata in version 3, with these members."""
    rest = struct.pack(">h", -1) + text("c") + text("/h") + struct.pack(">iiii", 9, 9, 0, 0)
    each = [text(member) + rest for member in members]
    head = struct.pack(">h", 3) + text("consumer") + struct.pack(">i", number) + text("range") + text("m-1")
    return head + struct.pack(">qi", NOON, len(each)) + b"".join(each)


def coordinator(records, *, end=None, error=0):
    listed, fetched = consumer.ListOffsetsResponse.ListOffsetsTopicResponse, consumer.FetchResponse
    raw = [b"".join(batch(n, pairs=[(group_key(name), value)]) for n, (name, value) in enumerate(records))]
    bounds = [0, len(records) if end is None else end, len(records) if end is None else end]

    def list_offsets(*_):
        row = listed.ListOffsetsPartitionResponse(
            partition_index=3, error_code=error, timestamp=-1, offset=bounds.pop(0), leader_epoch=0
        )
        return consumer.ListOffsetsResponse(throttle_time_ms=0, topics=[listed(name=OFFSETS_TOPIC, partitions=[row])])

    def fetch(*_):
        topic = fetched.FetchableTopicResponse
        row = topic.PartitionData(
            partition_index=3,
            error_code=0,
            high_watermark=9,
            last_stable_offset=9,
            log_start_offset=0,
            aborted_transactions=None,
            preferred_read_replica=-1,
            records=raw.pop(0) if raw else b"",
        )
        answered = [topic(topic=OFFSETS_TOPIC, partitions=[row])]
        return fetched(throttle_time_ms=0, error_code=0, session_id=0, responses=answered)

    return FakeBroker({2: list_offsets, 1: fetch}, ALL_VERSIONS | {1: (0, 11)})


def read(broker, group="pay"):
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        return read_last_generation(line, group, TP, Deadline.after(5))


def test_the_newest_record_of_the_group_has_its_last_generation():
    log = [("pay", generation(3, ["m-0"])), ("ship", generation(9, ["s-0"])), ("pay", generation(4, ["m-1", "m-2"]))]
    assert read(coordinator(log)) == LastGeneration(4, frozenset({"m-1", "m-2"}))


@pytest.mark.parametrize(
    "broker",
    [
        lambda: coordinator([("ship", generation(9, ["s-0"]))]),
        lambda: coordinator([("pay", generation(4, ["m-1"])), ("pay", None)]),
        lambda: coordinator([("pay", group_value(0))]),
        lambda: coordinator([("pay", generation(4, ["m-1"]))], end=7),
        lambda: coordinator([("pay", generation(4, ["m-1"]))], error=29),
    ],
    ids=["another group", "deleted", "empty", "not served to its end", "not allowed"],
)
def test_a_generation_that_the_log_does_not_show_is_unknown(broker):
    assert read(broker()) == UNKNOWN


def test_a_generation_with_more_members_than_are_read_excludes_none():
    members = [f"m-{number}" for number in range(MOST_MEMBERS + 1)]
    assert read(coordinator([("pay", generation(4, members))])) == LastGeneration(4)


def described(error=0):
    found = admin.DescribeGroupsResponse.DescribedGroup
    member = found.DescribedGroupMember(
        member_id="m-1",
        group_instance_id="worker-7",
        client_id="c",
        client_host="/h",
        member_metadata=b"",
        member_assignment=b"",
    )
    one = found(
        error_code=error,
        group_id="pay",
        group_state="PreparingRebalance",
        protocol_type="consumer",
        protocol_data="",
        members=[] if error else [member],
        authorized_operations=set(),
    )
    return FakeBroker({15: lambda *_: admin.DescribeGroupsResponse(throttle_time_ms=0, groups=[one])})


def members(broker):
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        return ask_members(line, "pay", Deadline.after(5))


def test_members_are_those_that_the_coordinator_lists():
    found = members(described())
    assert found == GroupMembers("pay", "PreparingRebalance", (GroupMember("m-1", "c", "/h", "worker-7", ()),))
    assert found.rebalances
    with pytest.raises(UnreachableError, match="group pay: DescribeGroups: NOT_COORDINATOR"):
        members(described(16))


def test_only_a_joining_group_has_members_that_the_last_generation_excludes():
    old, new = (GroupMember(name, "c", "/h", "", ()) for name in ("m-1", "m-2"))
    assert awaited((old, new), "PreparingRebalance", {"m-1"}) == (old,)
    assert awaited((old, new), "CompletingRebalance", {"m-1"}) == (old, new)
    assert awaited((old, new), "PreparingRebalance", {"gone"}) == (old, new)
