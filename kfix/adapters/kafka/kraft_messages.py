"""Requests and responses that only KRaft has, in the versions that the server supports.

DescribeQuorum has ages from version 1 on (Kafka 3.3) and the controllers' addresses from version 2 on (3.9);
DescribeCluster has fenced brokers from version 2 on (4.0). Source: docs/facts/kraft.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.adapters.kafka.codec import ByteReader, ProtocolError, Writer
from kfix.adapters.kafka.requests import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    DESCRIBE_QUORUM,
    DESCRIBE_TOPIC_PARTITIONS,
    Request,
)
from kfix.model.cluster.snapshot import Endpoint, TopicPartition
from kfix.model.numbers import LARGEST_PORT

METADATA_TOPIC = "__cluster_metadata"
_BROKERS, _CONTROLLERS = 1, 2
NEWEST_QUORUM, NEWEST_CLUSTER = 2, 2
#: The first version of DescribeQuorum with the times of the last fetch, and the first with addresses.
_TIMES, _ADDRESSES = 1, 2
#: The first version of DescribeCluster that names the kind of the servers, and the first with fenced brokers.
_KIND, _FENCED = 1, 2
OWN_CLUSTER = _KIND
_UUID = 16
_PARTITION_LIMIT = 2000
_SUPPORTED_TAG, _EPOCH_TAG, _FEATURES_TAG, _MIGRATION_TAG = 0, 1, 2, 3


class VoterState(NamedTuple):
    """A replica of the metadata log as its leader sees it. -1: unknown. Times are in ms by the leader's clock."""

    node: int
    directory: bytes
    log_end: int
    fetched_ms: int
    caught_up_ms: int


@dataclass(frozen=True, slots=True)
class DescribedQuorum:
    """`error` is that of the request or else of the partition: 6 from every controller that is not the active one.

    `heard_at` is when the answer arrived, by this host's clock in seconds since the epoch; 0.0 if that was not noted.
    """

    error: int
    leader: int = -1
    epoch: int = -1
    high_watermark: int = -1
    voters: tuple[VoterState, ...] = ()
    observers: tuple[VoterState, ...] = ()
    nodes: tuple[tuple[int, Endpoint], ...] = ()
    heard_at: float = 0.0


class ListedBroker(NamedTuple):
    broker: int
    endpoint: Endpoint
    fenced: bool


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    """`controller` is what the server believes, and a random broker where a broker answers."""

    error: int
    cluster_id: str
    controller: int
    brokers: tuple[ListedBroker, ...]


class EligibleReplicas(NamedTuple):
    """A partition by DescribeTopicPartitions: who may lead it. `elr` and `last_known` are empty where ELR is off."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Features:
    """`epoch` is the metadata offset that this server has applied, -1 if it reports none; 0 in ZooKeeper mode.

    `supported` are the highest levels that its software supports, of features whose lowest level is not 0.
    `migrates` is whether it has the settings of a migration from ZooKeeper to KRaft (KIP-866).
    """

    epoch: int
    finalized: dict[str, int]
    supported: dict[str, int] = field(default_factory=dict)
    migrates: bool = False


def describe_features() -> Request:
    """Requests ApiVersions v3, which every broker since 2.4 supports."""
    w = Writer().compact_string("kfix").compact_string("1").no_tags()
    return Request(API_VERSIONS, 3, w.done(), flexible=True)


def describe_quorum(version: int) -> Request:
    def partition(w: Writer, index: int) -> None:
        w.i32(index).no_tags()

    def topic(w: Writer, name: str) -> None:
        w.compact_string(name).compact_array((0,), partition).no_tags()

    w = Writer().compact_array((METADATA_TOPIC,), topic).no_tags()
    return Request(DESCRIBE_QUORUM, version, w.done(), flexible=True)


def describe_cluster(version: int) -> Request:
    """Requests the brokers; those that are fenced, too, from version 2 on.

    Controllers are never asked for by it: one names the leader that it believes in, which may be dead.
    """
    w = Writer().i8(0)
    if version >= _KIND:
        w.i8(_BROKERS)
    if version >= _FENCED:
        w.i8(1)
    return Request(DESCRIBE_CLUSTER, version, w.no_tags().done(), flexible=True)


def describe_own_cluster() -> Request:
    """Requests the id of the cluster of a controller, at its own listener (version 1, Kafka 3.7)."""
    return Request(DESCRIBE_CLUSTER, OWN_CLUSTER, Writer().i8(0).i8(_CONTROLLERS).no_tags().done(), flexible=True)


def describe_topic_partitions(topics: tuple[str, ...], start: TopicPartition | None = None) -> Request:
    """Requests up to 2000 partitions of these topics, from `start` on, which the previous response names."""

    def topic(w: Writer, name: str) -> None:
        w.compact_string(name).no_tags()

    w = Writer().compact_array(topics, topic).i32(_PARTITION_LIMIT)
    if start is None:
        w.i8(-1)
    else:
        w.i8(1).compact_string(start.topic).i32(start.partition).no_tags()
    return Request(DESCRIBE_TOPIC_PARTITIONS, 0, w.no_tags().done(), flexible=True)


def features(r: ByteReader) -> Features:  # noqa: C901 - one branch for each tagged field
    """Returns what ApiVersions v3 reports besides the versions: in tagged fields, which an old broker leaves out."""
    error = r.i16()
    if error:
        raise ProtocolError(f"ApiVersions returned error {error}")

    def versions() -> None:
        _ = r.i16(), r.i16(), r.i16()
        r.tags()

    def feature() -> tuple[str, int]:
        name, highest, _ = r.compact_string(), r.i16(), r.i16()
        r.tags()
        return name, highest

    def supported_feature() -> tuple[str, int]:
        name, _, highest = r.compact_string(), r.i16(), r.i16()
        r.tags()
        return name, highest

    r.compact_array(versions)
    r.i32()
    epoch, found, supported, migrates = -1, dict[str, int](), dict[str, int](), False
    for _ in range(r.uvarint()):
        tag, size = r.uvarint(), r.uvarint()
        end = r.at + size
        if tag == _SUPPORTED_TAG:
            supported = dict(r.compact_array(supported_feature))
        elif tag == _EPOCH_TAG:
            epoch = r.i64()
        elif tag == _FEATURES_TAG:
            found = dict(r.compact_array(feature))
        elif tag == _MIGRATION_TAG:
            migrates = r.boolean()
        else:
            r.take(size)
        if r.at != end:
            raise ProtocolError("a tagged field with a wrong length: not the Kafka protocol")
    return Features(epoch, found, supported, migrates)


def quorum(r: ByteReader, version: int) -> DescribedQuorum:
    """Returns the one partition that was requested."""
    error = r.i16()
    named = version >= _ADDRESSES
    if named:
        r.compact_string()
    found: list[DescribedQuorum] = []

    def replica() -> VoterState:
        node = r.i32()
        directory = r.take(_UUID) if named else b""
        end = r.i64()
        times = (r.i64(), r.i64()) if version >= _TIMES else (-1, -1)
        r.tags()
        return VoterState(node, directory, end, *times)

    def partition() -> None:
        _, code = r.i32(), r.i16()
        if named:
            r.compact_string()
        leader, epoch, high = r.i32(), r.i32(), r.i64()
        voters, observers = r.compact_array(replica), r.compact_array(replica)
        r.tags()
        found.append(DescribedQuorum(code, leader, epoch, high, tuple(voters), tuple(observers)))

    def topic() -> None:
        r.compact_string()
        r.compact_array(partition)
        r.tags()

    r.compact_array(topic)
    nodes = tuple((n, e) for n, ends in r.compact_array(lambda: _node(r)) for e in ends[:1]) if named else ()
    if error:
        return DescribedQuorum(error, nodes=nodes)
    if len(found) != 1:
        raise ProtocolError(f"DescribeQuorum returned {len(found)} partitions for one")
    [one] = found
    return DescribedQuorum(one.error, one.leader, one.epoch, one.high_watermark, one.voters, one.observers, nodes)


def _node(r: ByteReader) -> tuple[int, list[Endpoint]]:
    def listener() -> Endpoint:
        _, host, port = r.compact_string(), r.compact_string(), r.i16() & 0xFFFF
        r.tags()
        return Endpoint(host, port)

    node, listeners = r.i32(), r.compact_array(listener)
    r.tags()
    return node, listeners


def cluster(r: ByteReader, version: int) -> DescribedCluster:
    r.i32()
    error = r.i16()
    r.compact_string()
    if version >= _KIND:
        r.i8()
    cluster_id, controller = r.compact_string(), r.i32()

    def broker() -> ListedBroker:
        node, host, port = r.i32(), r.compact_string(), r.i32()
        if not 0 <= port <= LARGEST_PORT:
            raise ProtocolError("a broker with an invalid port: not the Kafka protocol")
        r.compact_string()
        fenced = r.boolean() if version >= _FENCED else False
        r.tags()
        return ListedBroker(node, Endpoint(host, port), fenced)

    return DescribedCluster(error, cluster_id, controller, tuple(r.compact_array(broker)))


def topic_partitions(r: ByteReader) -> tuple[dict[TopicPartition, EligibleReplicas], TopicPartition | None]:
    """Returns the partitions, and where the next request has to start; None: these are all."""
    r.i32()
    found: dict[TopicPartition, EligibleReplicas] = {}

    def ids() -> tuple[int, ...]:
        return tuple(r.compact_array(r.i32))

    def topic() -> None:
        r.i16()
        name = r.compact_string()
        r.take(_UUID + 1)

        def partition() -> None:
            _, index, leader, epoch = r.i16(), r.i32(), r.i32(), r.i32()
            ids()
            found[TopicPartition(name, index)] = EligibleReplicas(leader, epoch, ids(), ids(), ids())
            ids()
            r.tags()

        r.compact_array(partition)
        r.i32()
        r.tags()

    r.compact_array(topic)
    following = TopicPartition(r.compact_string(), r.i32()) if r.i8() >= 0 else None
    return found, following
