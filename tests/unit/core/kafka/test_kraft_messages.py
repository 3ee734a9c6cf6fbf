"""What only KRaft has, against kafka-python's classes, which are generated from Kafka's own message schemas."""

import contextlib
import struct
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol import admin
from kafka.protocol import metadata as meta

from kfix.core.kafka import kraft_messages, requests
from kfix.core.kafka import kraft_messages as kraft
from kfix.core.kafka.codec import ByteReader, ProtocolError
from kfix.core.kafka.connection import BrokerConnection, _frame
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition
from kfix.core.timing import Deadline
from tests.each import for_each
from tests.listening import listening

cursors = st.one_of(st.none(), st.builds(TopicPartition, st.text(min_size=1, max_size=20), st.integers(0, 9)))
names = st.text(min_size=1, max_size=20)
ids = st.lists(st.integers(0, 70000), max_size=5)
offsets = st.integers(-1, 2**62)
DIRECTORY = uuid.UUID(int=7)


def theirs(message, version):
    message.with_header(correlation_id=7, client_id="kfix")
    return bytes(message.encode(version=version, header=True, framed=True))


def same(ours, message):
    assert _frame(ours, 7) == theirs(message, ours.version)


def answer(message, version):
    return ByteReader(bytes(message.encode(version=version, header=False, framed=False)))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_quorum_request_has_the_same_bytes(version):
    topic = admin.DescribeQuorumRequest.TopicData
    same(
        kraft.describe_quorum(version),
        admin.DescribeQuorumRequest(
            topics=[topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])]
        ),
    )


@pytest.mark.parametrize(("version", "more"), [(0, {}), (1, {}), (2, {"include_fenced_brokers": True})])
def test_cluster_request_has_the_same_bytes(version, more):
    kind = {"endpoint_type": 1} if version else {}
    same(
        kraft.describe_cluster(version),
        admin.DescribeClusterRequest(include_cluster_authorized_operations=False, **kind, **more),
    )


@given(
    st.lists(names, max_size=4).map(tuple), st.one_of(st.none(), st.builds(TopicPartition, names, st.integers(0, 9)))
)
def test_topic_partitions_request_has_the_same_bytes(topics, start):
    asked = admin.DescribeTopicPartitionsRequest
    cursor = None if start is None else asked.Cursor(topic_name=start.topic, partition_index=start.partition)
    same(
        kraft.describe_topic_partitions(topics, start),
        asked(topics=[asked.TopicRequest(name=t) for t in topics], response_partition_limit=2000, cursor=cursor),
    )


def test_features_request_has_the_same_bytes():
    same(
        kraft.describe_features(),
        meta.ApiVersionsRequest(client_software_name="kfix", client_software_version="1"),
    )


@given(st.one_of(st.none(), offsets), st.dictionaries(names, st.integers(0, 99), max_size=4), st.booleans())
def test_features_answer_is_read_from_its_tags(epoch, finalized, ready):
    a = meta.ApiVersionsResponse
    message = a(
        error_code=0,
        api_keys=[a.ApiVersion(api_key=3, min_version=0, max_version=12)],
        throttle_time_ms=0,
        supported_features=[a.SupportedFeatureKey(name="metadata.version", min_version=7, max_version=21)],
        finalized_features_epoch=-1 if epoch is None else epoch,
        finalized_features=[
            a.FinalizedFeatureKey(name=n, max_version_level=v, min_version_level=v) for n, v in finalized.items()
        ],
        zk_migration_ready=ready,
    )
    reader = answer(message, 3)
    assert kraft.describe_features().decode(reader) == kraft.Features(
        -1 if epoch is None else epoch, finalized, {"metadata.version": 21}, ready
    )
    assert reader.at == len(reader.data)


@pytest.mark.parametrize("version", [0, 1, 2])
@given(st.integers(-1, 9), st.integers(-1, 99), offsets, st.lists(st.tuples(st.integers(0, 9), offsets), max_size=4))
def test_quorum_answer_is_read_whole(version, leader, epoch, high, replicas):
    a = admin.DescribeQuorumResponse
    data = a.TopicData.PartitionData
    rows = [_state(version, node, end) for node, end in replicas]
    partition = data(
        partition_index=0,
        error_code=6,
        error_message=None,
        leader_id=leader,
        leader_epoch=epoch,
        high_watermark=high,
        current_voters=rows,
        observers=rows[:1],
    )
    node = a.Node(node_id=4, listeners=[a.Node.Listener(name="CONTROLLER", host="::1", port=65535)])
    message = a(
        error_code=0,
        error_message=None,
        topics=[a.TopicData(topic_name="__cluster_metadata", partitions=[partition])],
        nodes=[node],
    )
    reader = answer(message, version)
    read = kraft.describe_quorum(version).decode(reader)
    times = (5, 6) if version else (-1, -1)
    directory = DIRECTORY.bytes if version > 1 else b""
    voters = tuple(kraft.VoterState(n, directory, end, *times) for n, end in replicas)
    nodes = ((4, Endpoint("::1", 65535)),) if version > 1 else ()
    listeners = ("CONTROLLER",) if version > 1 else ()
    assert read == kraft.DescribedQuorum(6, leader, epoch, high, voters, voters[:1], nodes, listeners)
    assert reader.data[reader.at :] == b"\0"  # no tags


def _state(version, node, end):
    state = admin.DescribeQuorumResponse.TopicData.PartitionData.ReplicaState
    more = {"last_fetch_timestamp": 5, "last_caught_up_timestamp": 6} if version else {}
    if version > 1:
        more["replica_directory_id"] = DIRECTORY
    return state(replica_id=node, log_end_offset=end, **more)


def test_the_error_of_a_quorum_request_is_kept():
    a = admin.DescribeQuorumResponse
    read = kraft.describe_quorum(2).decode(answer(a(error_code=31, error_message="no", topics=[], nodes=[]), 2))
    assert read.error == 31


def test_an_answer_about_no_partition_is_an_error():
    a = admin.DescribeQuorumResponse
    with pytest.raises(ProtocolError, match="0 partitions for one"):
        kraft.describe_quorum(2).decode(answer(a(error_code=0, error_message=None, topics=[], nodes=[]), 2))


@pytest.mark.parametrize("version", [0, 1, 2])
@given(names, st.lists(st.tuples(st.integers(0, 9), names, st.integers(0, 65535), st.booleans()), max_size=4))
def test_cluster_answer_is_read_whole(version, name, rows):
    a = admin.DescribeClusterResponse
    brokers = [
        a.DescribeClusterBroker(
            broker_id=n, host=host, port=port, rack=None, **({"is_fenced": fenced} if version > 1 else {})
        )
        for n, host, port, fenced in rows
    ]
    kind = {"endpoint_type": 1} if version else {}
    message = a(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        cluster_id=name,
        controller_id=3,
        brokers=brokers,
        **kind,
    )
    expected = tuple(kraft.ListedBroker(n, Endpoint(h, p), f and version > 1) for n, h, p, f in rows)
    found = kraft.describe_cluster(version).decode(answer(message, version))
    assert found == kraft.DescribedCluster(0, name, 3, expected)


@given(names, ids, st.one_of(st.none(), ids), st.one_of(st.none(), names))
def test_topic_partitions_answer_is_read_whole(name, isr, elr, following):
    a = admin.DescribeTopicPartitionsResponse
    topic = a.DescribeTopicPartitionsResponseTopic
    partition = topic.DescribeTopicPartitionsResponsePartition(
        error_code=0,
        partition_index=2,
        leader_id=-1,
        leader_epoch=4,
        replica_nodes=[1, 2],
        isr_nodes=isr,
        eligible_leader_replicas=elr,
        last_known_elr=[2],
        offline_replicas=[1],
    )
    message = a(
        throttle_time_ms=0,
        topics=[topic(error_code=0, name=name, topic_id=DIRECTORY, is_internal=False, partitions=[partition])],
        next_cursor=None if following is None else a.Cursor(topic_name=following, partition_index=5),
    )
    found, start = kraft.describe_topic_partitions(()).decode(answer(message, 0))
    assert found == {TopicPartition(name, 2): kraft.EligibleReplicas(-1, 4, tuple(isr), tuple(elr or ()), (2,))}
    assert start == (None if following is None else TopicPartition(following, 5))


@for_each(
    "decode",
    [
        kraft.describe_features().decode,
        *(kraft.describe_quorum(v).decode for v in (0, 1, 2)),
        *(kraft.describe_cluster(v).decode for v in (0, 1, 2)),
        kraft.describe_topic_partitions(()).decode,
    ],
)
@settings(max_examples=25)
@given(st.binary(max_size=400))
def test_garbage_is_one_clear_error_and_never_another(decode, data):
    with contextlib.suppress(ProtocolError):
        decode(ByteReader(data))


def _versions(*keys):
    body = struct.pack(">hi", 0, len(keys)) + b"".join(struct.pack(">hhh", key, 0, 12) for key in keys)

    def serve(line):
        asked = line.recv(1000)
        line.sendall(struct.pack(">i", len(body) + 4) + asked[8:12] + body)

    return serve


def test_a_controller_is_only_asked_on_purpose():
    with listening(_versions(kraft_messages.DESCRIBE_QUORUM, kraft_messages.API_VERSIONS)) as endpoint:
        with BrokerConnection(endpoint, Security(), controller=True) as line:
            assert line.newest(kraft_messages.DESCRIBE_QUORUM, 2, Deadline.after(1)) == 2
        with BrokerConnection(endpoint, Security()) as line, pytest.raises(ProtocolError, match="address of a broker"):
            line.exchange((), Deadline.after(1))


def test_a_broker_is_not_taken_for_a_controller():
    with (
        listening(_versions(requests.METADATA, kraft_messages.DESCRIBE_QUORUM)) as endpoint,
        BrokerConnection(endpoint, Security(), controller=True) as line,
        pytest.raises(ProtocolError, match="not the listener of a KRaft controller"),
    ):
        line.exchange((), Deadline.after(1))
