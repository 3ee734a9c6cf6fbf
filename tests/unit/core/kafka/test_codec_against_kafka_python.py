"""Our requests and answers against kafka-python's classes, which are generated from Kafka's own message schemas."""

import contextlib
from base64 import urlsafe_b64decode
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol import admin, consumer, producer
from kafka.protocol import metadata as meta
from kafka.protocol.consumer import group

from kfix.core.kafka import access_messages, group_messages, kraft_messages, requests, sasl, transactions
from kfix.core.kafka.api import Api
from kfix.core.kafka.codec import ByteReader, ProtocolError
from kfix.core.kafka.connection import _frame
from kfix.core.snapshot.group_reading import GroupMember
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import Assignment, Endpoint, PartitionView, TopicPartition
from tests.each import for_each
from tests.wire import Writer

names = st.text(min_size=1, max_size=20)
TP = TopicPartition("t", 0)
MARKER = transactions.Marker(TP, 7, 1, True, 2)
ids = st.lists(st.integers(0, 70000), max_size=5)


def theirs(message, version):
    message.with_header(correlation_id=7, client_id="kfix")
    return bytes(message.encode(version=version, header=True, framed=True))


def same(ours, message):
    assert _frame(ours, 7) == theirs(message, ours.version)


@given(st.one_of(st.none(), st.lists(names, max_size=4).map(tuple)))
def test_metadata_request_has_the_same_bytes(topics):
    topic = meta.MetadataRequest.MetadataRequestTopic
    listed = None if topics is None else [topic(name=t) for t in topics]
    for with_ids in (False, True):
        same(
            requests.metadata(topics, ids=with_ids),
            meta.MetadataRequest(topics=listed, allow_auto_topic_creation=False),
        )


@given(names)
def test_group_requests_have_the_same_bytes(name):
    same(group_messages.find_coordinator(name), meta.FindCoordinatorRequest(key=name, key_type=0))
    same(group_messages.offset_fetch(name), group.OffsetFetchRequest(group_id=name, topics=None))
    same(group_messages.describe_groups((name,)), admin.DescribeGroupsRequest(groups=[name]))
    same(group_messages.describe_members(name), admin.DescribeGroupsRequest(groups=[name]))
    same(group_messages.list_groups(), admin.ListGroupsRequest())


@given(names, st.lists(names, max_size=3), st.booleans())
def test_describe_configs_request_has_the_same_bytes(name, keys, synonyms):
    resource = admin.DescribeConfigsRequest.DescribeConfigsResource
    same(
        requests.describe_configs(requests.TOPIC_RESOURCE, (name,), tuple(keys), synonyms=synonyms),
        admin.DescribeConfigsRequest(
            resources=[resource(resource_type=2, resource_name=name, configuration_keys=keys)],
            include_synonyms=synonyms,
        ),
    )


@given(names, st.integers(0, 9))
def test_list_offsets_request_has_the_same_bytes(name, index):
    topic = consumer.ListOffsetsRequest.ListOffsetsTopic
    same(
        requests.list_offsets((TopicPartition(name, index),), requests.LATEST),
        consumer.ListOffsetsRequest(
            replica_id=-2,
            isolation_level=0,
            topics=[
                topic(
                    name=name,
                    partitions=[
                        topic.ListOffsetsPartition(partition_index=index, current_leader_epoch=-1, timestamp=-1)
                    ],
                )
            ],
        ),
    )


@given(names, names, st.integers(0, 9))
def test_stable_offsets_request_has_the_same_bytes(name, topic, index):
    asked = group.OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[index])
    same(
        group_messages.stable_offset_fetch(name, (TopicPartition(topic, index),)),
        group.OffsetFetchRequest(group_id=name, topics=[asked], require_stable=True),
    )


@given(names, st.integers(0, 9), st.integers(0, 1 << 40), st.integers(-1, 9), st.text(max_size=9))
def test_offset_commit_request_has_the_same_bytes(name, index, offset, epoch, metadata):
    topic = group.OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topic.OffsetCommitRequestPartition(
        partition_index=index, committed_offset=offset, committed_leader_epoch=epoch, committed_metadata=metadata
    )
    same(
        group_messages.offset_commit(name, {TopicPartition(name, index): StoredOffset(offset, epoch, metadata)}),
        group.OffsetCommitRequest(
            group_id=name,
            generation_id_or_member_epoch=-1,
            member_id="",
            group_instance_id=None,
            topics=[topic(name=name, partitions=[partition])],
        ),
    )


@given(names, st.integers(0, 9))
def test_offset_delete_request_has_the_same_bytes(name, index):
    topic = group.OffsetDeleteRequest.OffsetDeleteRequestTopic
    partition = topic.OffsetDeleteRequestPartition(partition_index=index)
    same(
        group_messages.offset_delete(name, (TopicPartition(name, index),)),
        group.OffsetDeleteRequest(group_id=name, topics=[topic(name=name, partitions=[partition])]),
    )


@given(names, names, st.text(max_size=9))
def test_leave_group_request_has_the_same_bytes(name, member, instance):
    identity = group.LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=instance or None)
    same(group_messages.leave_group(name, member, instance), group.LeaveGroupRequest(group_id=name, members=[identity]))


@given(names, st.integers(0, 9), st.integers(0, 1 << 40))
def test_fetch_request_has_the_same_bytes(name, index, offset):
    topic = consumer.FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        partition=index, current_leader_epoch=-1, fetch_offset=offset, log_start_offset=-1, partition_max_bytes=99
    )
    same(
        requests.fetch(TopicPartition(name, index), offset, 99),
        consumer.FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=99,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[topic(topic=name, partitions=[partition])],
            forgotten_topics_data=[],
            rack_id="",
        ),
    )


def test_list_reassignments_request_has_the_same_bytes():
    same(requests.list_reassignments(5000), admin.ListPartitionReassignmentsRequest(timeout_ms=5000, topics=None))


@given(names, st.integers(0, 300), st.booleans())
def test_elect_leaders_request_has_the_same_bytes(name, index, unclean):
    listed = [admin.ElectLeadersRequest.TopicPartitions(topic=name, partitions=[index])]
    same(
        requests.elect_leaders(TopicPartition(name, index), unclean=unclean, timeout_ms=9),
        admin.ElectLeadersRequest(election_type=int(unclean), topic_partitions=listed, timeout_ms=9),
    )


@given(names, st.integers(0, 300), st.one_of(st.none(), ids.map(tuple)))
def test_alter_reassignment_request_has_the_same_bytes(name, index, replicas):
    topic = admin.AlterPartitionReassignmentsRequest.ReassignableTopic
    same(
        requests.alter_reassignment(TopicPartition(name, index), replicas, 9),
        admin.AlterPartitionReassignmentsRequest(
            timeout_ms=9,
            topics=[
                topic(
                    name=name,
                    partitions=[
                        topic.ReassignablePartition(
                            partition_index=index, replicas=None if replicas is None else list(replicas)
                        )
                    ],
                )
            ],
        ),
    )


def answer(message, version):
    """The bytes behind the response header."""
    return ByteReader(bytes(message.encode(version=version)))


@given(names, st.integers(-1, 9), st.integers(-1, 9), ids, ids, ids)
def test_metadata_answer_is_read_whole(name, leader, epoch, replicas, isr, offline):
    topic = meta.MetadataResponse.MetadataResponseTopic
    broker = meta.MetadataResponse.MetadataResponseBroker
    partition = topic.MetadataResponsePartition(
        error_code=5,
        partition_index=3,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline,
    )
    shown = "lZvTr6IkS_SBmWlWqJvDtA"
    topic_id = UUID(bytes=urlsafe_b64decode(f"{shown}=="))
    response = meta.MetadataResponse(
        throttle_time_ms=0,
        brokers=[broker(node_id=1, host="h", port=9, rack="r"), broker(node_id=2, host="i", port=8, rack=None)],
        cluster_id="c",
        controller_id=2,
        topics=[
            topic(error_code=0, name=name, topic_id=topic_id, is_internal=False, partitions=[partition]),
            topic(error_code=0, name="without", topic_id=UUID(int=0), is_internal=False, partitions=[]),
        ],
    )
    for with_ids in (False, True):
        asked = requests.metadata(ids=with_ids)
        said = asked.decode(answer(response, asked.version))
        assert (said.cluster_id, said.controller, said.racks, sorted(said.brokers)) == ("c", 2, {1: "r"}, [1, 2])
        assert said.topic_ids == ({name: shown} if with_ids else {})
        assert said.partitions == {
            TopicPartition(name, 3): PartitionView(leader, epoch, tuple(replicas), tuple(isr), tuple(offline), 5)
        }


@given(names, ids, ids, ids)
def test_reassignments_answer_is_read_whole(name, replicas, adding, removing):
    topic = admin.ListPartitionReassignmentsResponse.OngoingTopicReassignment
    listed = topic.OngoingPartitionReassignment(
        partition_index=1, replicas=replicas, adding_replicas=adding, removing_replicas=removing
    )
    reader = answer(
        admin.ListPartitionReassignmentsResponse(
            throttle_time_ms=0, error_code=0, error_message=None, topics=[topic(name=name, partitions=[listed])]
        ),
        0,
    )
    expected = Assignment(tuple(replicas), tuple(adding), tuple(removing))
    assert requests.list_reassignments().decode(reader) == (0, {TopicPartition(name, 1): expected})


@given(names, st.integers(-1, 1 << 40), st.sampled_from([0, 88]))
def test_stable_offsets_answer_is_read_whole(name, offset, code):
    topic = group.OffsetFetchResponse.OffsetFetchResponseTopic
    partition = topic.OffsetFetchResponsePartition(
        partition_index=4, committed_offset=offset, committed_leader_epoch=-1, metadata="m", error_code=code
    )
    reader = answer(
        group.OffsetFetchResponse(throttle_time_ms=0, topics=[topic(name=name, partitions=[partition])], error_code=16),
        7,
    )
    expected = {TopicPartition(name, 4): group_messages.CommittedOffset(code, offset, -1, "m")}
    assert group_messages.stable_offset_fetch("g", ()).decode(reader) == (16, expected)


@given(names, names, st.one_of(st.none(), names), st.booleans())
def test_members_answer_is_read_whole(name, topic, instance, consumes):
    described = admin.DescribeGroupsResponse.DescribedGroup
    assigned = Writer().i16(0).i32(1).string(topic).array((2, 0), Writer.i32).blob(b"").done()
    member = described.DescribedGroupMember(
        member_id="m",
        group_instance_id=instance,
        client_id="c",
        client_host="/h",
        member_metadata=b"x",
        member_assignment=assigned,
    )
    one = described(
        error_code=0,
        group_id=name,
        group_state="Stable",
        protocol_type="consumer" if consumes else "connect",
        protocol_data="range",
        members=[member],
        authorized_operations=set(),
    )
    reader = answer(admin.DescribeGroupsResponse(throttle_time_ms=0, groups=[one]), 4)
    found = group_messages.describe_members(name).decode(reader)
    tps = (TopicPartition(topic, 2), TopicPartition(topic, 0)) if consumes else ()
    assert found.members == (GroupMember("m", "c", "/h", instance or "", tps),)
    assert (found.error, found.state) == (0, "Stable")


@given(names, st.integers(-1, 1 << 40))
def test_committed_offsets_answer_is_read_whole(name, offset):
    topic = group.OffsetFetchResponse.OffsetFetchResponseTopic
    partition = topic.OffsetFetchResponsePartition(
        partition_index=4, committed_offset=offset, committed_leader_epoch=-1, metadata="m", error_code=29
    )
    reader = answer(
        group.OffsetFetchResponse(throttle_time_ms=0, topics=[topic(name=name, partitions=[partition])], error_code=16),
        5,
    )
    expected = {TopicPartition(name, 4): group_messages.CommittedOffset(29, offset)}
    assert group_messages.offset_fetch("g").decode(reader) == (16, expected)


@pytest.mark.parametrize(
    ("top", "members", "expected"),
    [
        (0, [("m-1", None, 0)], (0, "")),
        (0, [("m-1", None, 25)], (25, "member m-1")),
        (0, [("m-1", "worker-7", 82)], (82, "member worker-7")),
        (16, [], (16, "")),
    ],
)
def test_the_answer_about_a_removed_member_is_its_own_error_or_that_of_the_request(top, members, expected):
    rows = [
        group.LeaveGroupResponse.MemberResponse(member_id=member, group_instance_id=instance, error_code=code)
        for member, instance, code in members
    ]
    reader = answer(group.LeaveGroupResponse(throttle_time_ms=0, error_code=top, members=rows), 3)
    assert group_messages.leave_group("g", "m", "").decode(reader) == requests.PartitionResult(*expected)


def test_an_answer_about_no_removed_member_is_an_error():
    reader = answer(group.LeaveGroupResponse(throttle_time_ms=0, error_code=0, members=[]), 3)
    with pytest.raises(ProtocolError, match="0 members for one"):
        group_messages.leave_group("g", "m", "").decode(reader)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([0, 0], (0, "")),
        ([25, 25], (25, "t-0")),
        ([0, 3], (-1, "t-1: UNKNOWN_TOPIC_OR_PARTITION; accepted: 1")),
    ],
)
def test_answers_about_offsets_show_whether_all_or_some_or_none_were_changed(codes, expected):
    committed = group.OffsetCommitResponse.OffsetCommitResponseTopic
    rows = [
        committed.OffsetCommitResponsePartition(partition_index=number, error_code=code)
        for number, code in enumerate(codes)
    ]
    reader = answer(group.OffsetCommitResponse(throttle_time_ms=0, topics=[committed(name="t", partitions=rows)]), 7)
    assert group_messages.offset_commit("g", {}).decode(reader) == requests.PartitionResult(*expected)
    deleted = group.OffsetDeleteResponse.OffsetDeleteResponseTopic
    rows = [
        deleted.OffsetDeleteResponsePartition(partition_index=number, error_code=code)
        for number, code in enumerate(codes)
    ]
    for top in (0, 69):
        reader = answer(
            group.OffsetDeleteResponse(error_code=top, throttle_time_ms=0, topics=[deleted(name="t", partitions=rows)]),
            0,
        )
        wanted = (top, "") if top else expected
        assert group_messages.offset_delete("g", ()).decode(reader) == requests.PartitionResult(*wanted)


@given(names, st.binary(max_size=40), st.sampled_from([0, 1]))
def test_fetch_answer_is_read_whole(name, raw, code):
    topic = consumer.FetchResponse.FetchableTopicResponse
    aborted = topic.PartitionData.AbortedTransaction(producer_id=3, first_offset=2)
    partition = topic.PartitionData(
        partition_index=4,
        error_code=code,
        high_watermark=9,
        last_stable_offset=8,
        log_start_offset=1,
        aborted_transactions=[aborted],
        preferred_read_replica=-1,
        records=raw,
    )
    reader = answer(
        consumer.FetchResponse(
            throttle_time_ms=0, error_code=0, session_id=0, responses=[topic(topic=name, partitions=[partition])]
        ),
        11,
    )
    assert requests.fetch(TP, 0, 1).decode(reader) == requests.FetchedRecords(code, 9, 1, raw)


@given(st.integers(0, 90), st.one_of(st.none(), names))
def test_answers_to_changes_carry_the_partitions_own_error(code, message):
    election = admin.ElectLeadersResponse.ReplicaElectionResult
    result = election.PartitionResult(partition_id=1, error_code=code, error_message=message)
    said = requests.elect_leaders(TP, unclean=False, timeout_ms=9).decode(
        answer(
            admin.ElectLeadersResponse(
                throttle_time_ms=0,
                error_code=0,
                replica_election_results=[election(topic="t", partition_result=[result])],
            ),
            1,
        )
    )
    assert (said.error, said.message) == (code, message or "")


@given(names, st.integers(-1, 2**40), st.integers(0, 9))
def test_the_producers_of_a_partition_are_read_whole(name, start, index):
    asked = transactions.describe_producers([TopicPartition(name, index)])
    topic = admin.DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[index])
    same(asked, admin.DescribeProducersRequest(topics=[topic]))
    row = admin.DescribeProducersResponse.TopicResponse
    state = row.PartitionResponse.ProducerState(
        producer_id=7,
        producer_epoch=1,
        last_sequence=5,
        last_timestamp=9,
        coordinator_epoch=2,
        current_txn_start_offset=start,
    )
    partition = row.PartitionResponse(partition_index=index, error_code=0, error_message=None, active_producers=[state])
    message = admin.DescribeProducersResponse(throttle_time_ms=0, topics=[row(name=name, partitions=[partition])])
    one = transactions.ProducerState(7, 1, 9, 2, start)
    assert asked.decode(answer(message, 0)) == {TopicPartition(name, index): transactions.DescribedProducers(0, (one,))}


@given(names, st.booleans(), st.booleans(), st.integers(0, 9), st.sampled_from([0, 31]))
def test_the_end_of_a_transaction_in_one_partition_has_the_same_bytes(name, commit, newer, index, code):
    tp = TopicPartition(name, index)
    marker = producer.WriteTxnMarkersRequest.WritableTxnMarker
    topic = marker.WritableTxnMarkerTopic(name=name, partition_indexes=[index])
    asked = transactions.write_marker(transactions.Marker(tp, 7, 1, commit, 2), newer=newer)
    theirs = marker(producer_id=7, producer_epoch=1, transaction_result=commit, topics=[topic], coordinator_epoch=2)
    same(asked, producer.WriteTxnMarkersRequest(markers=[theirs]))
    assert not asked.api_key.reads
    result = producer.WriteTxnMarkersResponse.WritableTxnMarkerResult
    of_topic = result.WritableTxnMarkerTopicResult
    row = of_topic.WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
    for rows in ([row], []):
        said = producer.WriteTxnMarkersResponse(
            markers=[result(producer_id=7, topics=[of_topic(name=name, partitions=rows)])]
        )
        if rows:
            found = asked.decode(answer(said, asked.version))
            assert found == requests.PartitionResult(code, str(tp) if code else "")
        else:
            with pytest.raises(ProtocolError, match="0 partitions for one"):
                asked.decode(answer(said, asked.version))


every = [
    requests.metadata(),
    requests.list_offsets((), requests.LATEST),
    requests.epoch_ends({}),
    requests.fetch(TP, 0, 1),
    requests.produce(TP, b"", 1),
    requests.list_reassignments(),
    requests.alter_reassignment(TP, None, 1),
    requests.elect_leaders(TP, unclean=True, timeout_ms=1),
    requests.describe_configs(requests.TOPIC_RESOURCE, (), None),
    requests.alter_configs(requests.TOPIC_RESOURCE, "t", {}),
    requests.describe_log_dirs(with_room=False),
    requests.describe_log_dirs(with_room=True),
    access_messages.describe_acls(access_messages.EVERYTHING),
    access_messages.describe_quotas(),
    group_messages.find_coordinator("g"),
    group_messages.offset_fetch("g"),
    group_messages.stable_offset_fetch("g", ()),
    group_messages.list_groups(),
    group_messages.list_groups(typed=True),
    group_messages.describe_groups(()),
    group_messages.describe_members("g"),
    group_messages.offset_commit("g", {}),
    group_messages.offset_delete("g", ()),
    group_messages.leave_group("g", "m", ""),
    group_messages.init_producer_id("t", 1, 0, 1),
    kraft_messages.api_versions(),
    kraft_messages.unregister_broker(1),
    kraft_messages.remove_voter(1, bytes(16)),
    kraft_messages.add_voter(1, bytes(16), ("CONTROLLER", Endpoint("a", 1)), 9),
    transactions.describe_producers((TP,)),
    transactions.write_marker(MARKER, newer=False),
    transactions.write_marker(MARKER, newer=True),
    sasl.handshake("PLAIN"),
    sasl.send_token(b""),
]


@for_each("asked", every, ids=lambda asked: f"{asked.api_key!r} v{asked.version}")
@settings(max_examples=25)
@given(st.binary(max_size=400))
def test_garbage_is_one_clear_error_and_never_another(asked, data):
    with contextlib.suppress(ProtocolError):
        asked.decode(ByteReader(data))


def test_there_are_decoders_to_fuzz():
    declared = {
        each for module in (requests, group_messages, sasl) for each in vars(module).values() if isinstance(each, Api)
    }
    assert declared <= {each.api_key for each in every}
    assert len(every) >= 12
