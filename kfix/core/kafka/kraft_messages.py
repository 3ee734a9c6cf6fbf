"""Requests and responses that only KRaft has, in the versions that the server supports.

DescribeQuorum has ages from version 1 on (Kafka 3.3) and the controllers' addresses from version 2 on (3.9);
DescribeCluster has fenced brokers from version 2 on (4.0). Source: docs/facts/kraft.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import ProtocolError, Rows
from kfix.core.kafka.codes import CLUSTER
from kfix.core.kafka.requests import FetchedRecords, PartitionResult, by_partition, fetched
from kfix.core.numbers import LARGEST_PORT
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition

METADATA_TOPIC = "__cluster_metadata"
_BROKERS, _CONTROLLERS = 1, 2
NEWEST_QUORUM, NEWEST_CLUSTER = 2, 2
#: The first version of DescribeCluster that names the kind of the servers.
OWN_CLUSTER = 1
_PARTITION_LIMIT = 2000


class VoterState(NamedTuple):
    """A replica of the metadata log as its leader sees it. -1: unknown. Times are in ms by the leader's clock."""

    node: int
    directory: bytes
    log_end: int
    fetched_ms: int
    caught_up_ms: int


@dataclass(frozen=True, slots=True)
class DescribedQuorum:
    """`error` is the request's or else the partition's: 6 from every controller that is not the active one.

    `listeners` are the names of all listeners of the voters. `heard_at` is when the answer arrived, by this host's
    clock in seconds since the epoch; 0.0 if unknown.
    """

    error: int
    leader: int = -1
    epoch: int = -1
    high_watermark: int = -1
    voters: tuple[VoterState, ...] = ()
    observers: tuple[VoterState, ...] = ()
    nodes: tuple[tuple[int, Endpoint], ...] = ()
    listeners: tuple[str, ...] = ()
    heard_at: float = 0.0


class ListedBroker(NamedTuple):
    broker: int
    endpoint: Endpoint
    fenced: bool


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    """`controller` is the server's own view; a broker answers with a random broker."""

    error: int
    cluster_id: str
    controller: int
    brokers: tuple[ListedBroker, ...]


class EligibleReplicas(NamedTuple):
    """A partition by DescribeTopicPartitions: who may lead it. `elr` and `last_known` are empty if ELR is off."""

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


API_VERSIONS = Api(
    18,
    "name:str@3 software_version:str@3",
    "error:i16 versions:[key:i16 oldest:i16 newest:i16] _throttle_ms:i32@1"
    " supported:[name:str lowest:i16 highest:i16]#0 epoch:i64=-1#1 finalized:[name:str highest:i16 _lowest:i16]#2"
    " migrates:bool#3",
    reads=True,
    flexible=3,
)


def api_versions() -> Request[dict[int, tuple[int, int]]]:
    """Requests the oldest and newest version of every API; the response names no features."""
    return API_VERSIONS.ask(0, ("", ""), lambda error, ranges, *_: _versions(error, ranges))


def _versions(error: int, ranges: Rows) -> dict[int, tuple[int, int]]:
    if error:
        raise ProtocolError(f"ApiVersions returned error {error}")
    return {key: (oldest, newest) for key, oldest, newest in ranges}


def describe_features() -> Request[Features]:
    """Requests ApiVersions v3, which every broker since 2.4 supports.

    It reports the features in tagged fields; an old broker leaves them out.
    """

    def convert(error: int, ranges: Rows, supported: Rows, epoch: int, finalized: Rows, migrates: bool) -> Features:
        _versions(error, ranges)
        return Features(epoch, dict(finalized), {name: highest for name, _, highest in supported}, migrates)

    return API_VERSIONS.ask(3, ("kfix", "1"), convert)


DESCRIBE_QUORUM = Api(
    55,
    "topics:[name:str partitions:[index:i32]]",
    "error:i16 _message:str@2 topics:[_name:str partitions:[_index:i32 error:i16 _message:str@2 leader:i32 epoch:i32"
    " high_watermark:i64"
    " voters:[id:i32 directory:uuid@2 log_end:i64 fetched_ms:i64=-1@1 caught_up_ms:i64=-1@1]"
    " observers:[id:i32 directory:uuid@2 log_end:i64 fetched_ms:i64=-1@1 caught_up_ms:i64=-1@1]]]"
    " nodes:[id:i32 listeners:[name:str host:str port:u16]]@2",
    reads=True,
    flexible=0,
)


def describe_quorum(version: int) -> Request[DescribedQuorum]:
    return DESCRIBE_QUORUM.ask(version, ([(METADATA_TOPIC, [(0,)])],), _quorum)


def _quorum(error: int, topics: Rows, nodes: Rows) -> DescribedQuorum:
    """Returns the one partition that was requested."""
    addresses = tuple((node, Endpoint(*listeners[0][1:])) for node, listeners in nodes if listeners)
    names = tuple(sorted({name for _, listeners in nodes for name, *_ in listeners}))
    if error:
        return DescribedQuorum(error, nodes=addresses)
    found = [row for (partitions,) in topics for row in partitions]
    if len(found) != 1:
        raise ProtocolError(f"DescribeQuorum returned {len(found)} partitions for one")
    [(code, leader, epoch, high, voters, observers)] = found
    return DescribedQuorum(code, leader, epoch, high, _states(voters), _states(observers), addresses, names)


def _states(rows: Rows) -> tuple[VoterState, ...]:
    return tuple(VoterState(*each) for each in rows)


DESCRIBE_CLUSTER = Api(
    60,
    "_operations:bool kind:i8@1 _fenced:bool=1@2",
    "_throttle_ms:i32 error:i16 _message:str _kind:i8@1 cluster_id:str controller:i32"
    " brokers:[id:i32 host:str port:i32 _rack:str fenced:bool@2]",
    reads=True,
    flexible=0,
    operations={CLUSTER: "Alter"},  # For controllers; a broker answers without a right.
)


def describe_cluster(version: int) -> Request[DescribedCluster]:
    """Requests the brokers; from version 2 on also the fenced ones.

    It is never used to find controllers: a controller names the leader that it believes in, which may be dead.
    """
    return DESCRIBE_CLUSTER.ask(version, (_BROKERS,), _cluster)


def describe_own_cluster() -> Request[DescribedCluster]:
    """Requests the id of the cluster of a controller, at its own listener (version 1, Kafka 3.7)."""
    return DESCRIBE_CLUSTER.ask(OWN_CLUSTER, (_CONTROLLERS,), _cluster)


def _cluster(error: int, cluster_id: str, controller: int, brokers: Rows) -> DescribedCluster:
    if any(not 0 <= port <= LARGEST_PORT for _, _, port, _ in brokers):
        raise ProtocolError("a broker with an invalid port: not the Kafka protocol")
    listed = tuple(ListedBroker(node, Endpoint(host, port), fenced) for node, host, port, fenced in brokers)
    return DescribedCluster(error, cluster_id, controller, listed)


DESCRIBE_TOPIC_PARTITIONS = Api(
    75,
    "topics:[name:str] limit:i32 start:{topic:str partition:i32}?",
    "_throttle_ms:i32 topics:[_error:i16 name:str _id:uuid _internal:bool partitions:[_error:i16 index:i32 leader:i32"
    " epoch:i32 _replicas:i32s isr:i32s elr:i32s last_known:i32s _offline:i32s] _operations:i32]"
    " next:{topic:str partition:i32}?",
    reads=True,
    flexible=0,
)
#: The content of DescribeTopicPartitions, and the start of the next request; None: these are all.
EligiblePage = tuple[dict[TopicPartition, EligibleReplicas], TopicPartition | None]


def describe_topic_partitions(topics: tuple[str, ...], start: TopicPartition | None = None) -> Request[EligiblePage]:
    """Requests up to 2000 partitions of these topics, from `start` on, which the previous response names."""

    def convert(found: Rows, following: tuple[str, int] | None) -> EligiblePage:
        return by_partition(found, EligibleReplicas), None if following is None else TopicPartition(*following)

    return DESCRIBE_TOPIC_PARTITIONS.ask(0, ([(topic,) for topic in topics], _PARTITION_LIMIT, start), convert)


FETCH_METADATA = Api(
    1,
    "_replica:i32=-1 _wait_ms:i32 _min_bytes:i32 most_bytes:i32 _isolation:i8 _session:i32 _session_epoch:i32=-1"
    " topics:[id:uuid partitions:[_index:i32 epoch:i32 offset:i64 last_epoch:i32 _log_start:i64=-1 most_bytes:i32]]"
    " _forgotten:[id:uuid partitions:i32s] _rack:str",
    "_throttle_ms:i32 error:i16 _session:i32 topics:[_id:uuid partitions:[_index:i32 error:i16 high_watermark:i64"
    " _last_stable:i64 start:i64 _aborted:[_producer:i64 _first:i64] _replica:i32 records:blob]]",
    reads=True,
    flexible=12,
    operations={CLUSTER: "ClusterAction"},
)
#: The first version of Fetch that names topics by their ids, without which a controller refuses it.
_BY_ID = 13
_METADATA_ID = bytes(15) + b"\1"


def fetch_metadata(epoch: int, offset: int, last_epoch: int, most_bytes: int) -> Request[FetchedRecords]:
    """Requests records of the metadata log from the active controller of this epoch, without waiting.

    `last_epoch` is that of the record before the offset; the controller answers without records if its log differs.
    """
    partition = (epoch, offset, last_epoch, most_bytes)
    return FETCH_METADATA.ask(_BY_ID, (most_bytes, [(_METADATA_ID, [partition])]), fetched)


UNREGISTER_BROKER = Api(
    64, "broker:i32", "_throttle_ms:i32 error:i16 message:str", flexible=0, operations={CLUSTER: "Alter"}
)


def unregister_broker(broker: int) -> Request[PartitionResult]:
    """Removes the registration of a broker (KRaft, any version); a broker forwards it to the active controller."""
    return UNREGISTER_BROKER.ask(0, (broker,), PartitionResult)


UPDATE_FEATURES = Api(
    57,
    "timeout_ms:i32 updates:[name:str level:i16 kind:i8] _validate_only:bool",
    "_throttle_ms:i32 error:i16 message:str results:[_name:str error:i16 message:str]",
    flexible=0,
    operations={CLUSTER: "Alter"},
)
#: How UpdateFeatures may change a level.
UPGRADE, SAFE_DOWNGRADE = 1, 2


def update_feature(name: str, level: int, timeout_ms: int, kind: int = UPGRADE) -> Request[PartitionResult]:
    """Sets the level of one feature (KRaft, version 1, Kafka 3.3); a broker forwards it to the active controller."""

    def convert(error: int, message: str, results: Rows) -> PartitionResult:
        refused = [PartitionResult(*row) for row in results if row[0]]
        return refused[0] if refused and not error else PartitionResult(error, message)

    return UPDATE_FEATURES.ask(1, (timeout_ms, [(name, level, kind)]), convert)


ADD_VOTER = Api(
    80,
    "cluster:str? timeout_ms:i32 node:i32 directory:uuid listeners:[name:str host:str port:u16]",
    "_throttle_ms:i32 error:i16 message:str",
    flexible=0,
    operations={CLUSTER: "Alter"},
)
REMOVE_VOTER = Api(
    81,
    "cluster:str? node:i32 directory:uuid",
    "_throttle_ms:i32 error:i16 message:str",
    flexible=0,
    operations={CLUSTER: "Alter"},
)


def add_voter(
    node: int, directory: bytes, listener: tuple[str, Endpoint], timeout_ms: int, cluster: str | None = None
) -> Request[PartitionResult]:
    """Adds a controller, with the directory id of its disk, to the voters of a dynamic quorum (KIP-853).

    A controller of another cluster than `cluster` refuses it.
    """
    name, endpoint = listener
    values = (cluster, timeout_ms, node, directory, [(name, endpoint.host, endpoint.port)])
    return ADD_VOTER.ask(0, values, PartitionResult)


def remove_voter(node: int, directory: bytes, cluster: str | None = None) -> Request[PartitionResult]:
    """Removes the controller with this directory id from the voters of a dynamic quorum (KIP-853)."""
    return REMOVE_VOTER.ask(0, (cluster, node, directory), PartitionResult)
