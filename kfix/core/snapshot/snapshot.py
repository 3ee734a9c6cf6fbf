"""One snapshot of one cluster: the answers of every source, and which sources did not answer.

A field is never guessed. An unread field is `None` (or absent from its mapping), and its source is in `sources` with
the error: unknown is neither absent nor healthy. Times are seconds since the epoch, UTC, unless a name ends in `_ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kfix.core.declared import Int16, Int32, Moment, Shared, Unstored
from kfix.core.snapshot.broker_answers import CoordinatorProbe as CoordinatorProbe  # noqa: PLC0414
from kfix.core.snapshot.broker_answers import EpochEnd as EpochEnd  # noqa: PLC0414
from kfix.core.snapshot.broker_answers import LogEnd as LogEnd  # noqa: PLC0414
from kfix.core.snapshot.broker_answers import LoggedGroup as LoggedGroup  # noqa: PLC0414
from kfix.core.snapshot.broker_answers import OffsetsLog as OffsetsLog  # noqa: PLC0414
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.broker_answers import OpenTransaction as OpenTransaction  # noqa: PLC0414
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.fleet_facts import FleetFacts
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupReading
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.naming import Endpoint as Endpoint  # noqa: PLC0414 - part of this module's interface
from kfix.core.snapshot.naming import TopicPartition as TopicPartition  # noqa: PLC0414
from kfix.core.snapshot.pasted import PastedText
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.traffic import Traffic
from kfix.core.snapshot.transactions import TransactionLog

NO_LEADER = -1
#: The setting of a broker that names the version of the protocol between brokers.
PROTOCOL = "inter.broker.protocol.version"
#: Among a broker's settings, although it is no setting of Kafka: the default of `PROTOCOL`, which is the newest version
#: that the software supports. Absent if the broker did not report it.
NEWEST_PROTOCOL = f"{PROTOCOL} (newest)"
#: The source of the settings of topics, if some of them were not read. Before a broker's name, it is
#: the source of one broker, and another one may have answered.
TOPIC_CONFIGS = "topic configs"
#: Before a topic's name, the source of the settings that ZooKeeper records of that topic.
TOPIC_ZNODE = "znode /config/topics/"
#: Sources with this name fail if a broker holds replicas of topics that this client may not describe.
HIDDEN_TOPICS = "topics of broker"
#: In the error of a ZooKeeper server that responds but refuses `srvr`.
SRVR_REFUSED = "not allowed"


class Mode(StrEnum):
    ZOOKEEPER = "zk"
    KRAFT = "kraft"
    UNKNOWN = "unknown"


class PartitionView(NamedTuple):
    """A partition in the metadata cache of one broker (Metadata v7). `error` is Kafka's code, 5 for no leader."""

    leader: Int32
    leader_epoch: Int32
    replicas: tuple[Int32, ...]
    isr: tuple[Int32, ...]
    offline: tuple[Int32, ...]
    error: Int16 = 0


class PartitionState(NamedTuple):
    """The znode `/brokers/topics/T/partitions/P/state`: the controllers' shared record of the partition."""

    leader: Int32
    leader_epoch: Int32
    isr: tuple[Int32, ...]
    controller_epoch: Int32
    version: Int32
    mzxid: int
    mtime_ms: int


class Assignment(NamedTuple):
    """The replicas of a partition in order; the first is the preferred leader."""

    replicas: tuple[Int32, ...]
    adding: tuple[Int32, ...] = ()
    removing: tuple[Int32, ...] = ()

    @property
    def contradicted(self) -> tuple[int, ...]:
        """Returns the replicas that are both added and removed: the move never ends (docs/facts/kraft.md)."""
        return tuple(b for b in self.adding if b in self.removing)

    @property
    def ending_target(self) -> tuple[int, ...]:
        """Returns the replicas to which a contradicted move has to be reassigned in order to end.

        That removes a replica and none that is added: with nothing to remove Kafka leaves the contradiction in place.
        """
        first = tuple(b for b in self.replicas if b in self.adding or b not in self.removing)
        return first if first != self.replicas else tuple(b for b in self.replicas if b in self.adding)


@dataclass(frozen=True, slots=True)
class Source:
    """One request to one source. `name` such as `broker 2`, `zookeeper 127.0.0.1:2181`, `coordinator probe`."""

    name: str
    ok: bool
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BrokerView:
    """The cluster as one broker reports it, asked over a separate connection."""

    broker: Int32
    controller: Int32
    alive: Mapping[Int32, Endpoint]
    racks: Mapping[Int32, str]
    partitions: Shared[Mapping[TopicPartition, PartitionView]]


@dataclass(frozen=True, slots=True)
class Registration:
    """The ephemeral znode `/brokers/ids/N`; its czxid is the broker epoch, a restart makes a new one.

    `registered_ms` is when ZooKeeper created the znode, by ZooKeeper's clock like all its times.
    """

    broker: Int32
    endpoint: Endpoint | None
    rack: str | None
    czxid: int
    registered_ms: int


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """The znodes `/controller` and `/controller_epoch`. `broker` is None if `/controller` does not exist."""

    broker: Int32 | None
    elected_ms: int
    czxid: int
    epoch: Int32
    epoch_version: Int32
    epoch_mzxid: int
    kraft_epoch: Int32 = -1

    @property
    def is_kraft(self) -> bool:
        """Whether a KRaft controller has taken over, in a migration to KRaft."""
        return self.kraft_epoch >= 0


@dataclass(frozen=True, slots=True)
class ZooKeeperNode:
    """One member of the ensemble as its own `srvr` describes it.

    `mode` is leader, follower, observer, standalone, read-only, `no quorum`, or "" if it is unknown. `zxid` is its last
    transaction (-1: unknown): its high 32 bits count the elections of the ensemble.
    """

    address: str
    mode: str
    error: str = ""
    zxid: int = -1

    @property
    def serves(self) -> bool:
        return self.mode in {"leader", "follower", "observer", "standalone"}

    @property
    def without_quorum(self) -> bool:
        return self.mode in {"no quorum", "read-only"}

    @property
    def refuses(self) -> bool:
        """Whether `srvr` is disabled there: then the server is alive, and nothing else is known."""
        return SRVR_REFUSED in self.error


@dataclass(frozen=True, slots=True)
class ZooKeeperView:
    """The content of ZooKeeper, read through one server. `migrating_since_ms` is when `/migration` was created, or 0.

    `copied` is the offset of the KRaft controllers' log up to which they have written ZooKeeper, -1 if it is unknown.

    `clock_ahead` is this host's clock minus the server's, in seconds; times are by this host's clock. None: unknown.
    `members_zxid` is the transaction that last created or removed a registration, -1 if it is unknown.
    `topics_created` are {topic: the transaction that created its znode}: another one if it was deleted and created
    again.
    """

    connect: str
    server: str
    controller: ControllerNode
    registrations: Mapping[Int32, Registration]
    assignments: Mapping[TopicPartition, Assignment]
    states: Mapping[TopicPartition, PartitionState]
    reassigning: Mapping[TopicPartition, tuple[Int32, ...]]
    deleting: frozenset[str]
    topic_configs: Mapping[str, Mapping[str, str]]
    isr_notifications: Int32 = 0
    preferred_election_pending: bool = False
    migrating: bool = False
    migrating_since_ms: int = 0
    copied: int = -1
    clock_ahead: int | None = None
    members_zxid: int = -1
    topics_created: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """A group as the brokers listed it. `listed_by` does not prove health (docs/facts/operations.md).

    `state` is "" if the group was not described. `group_type` is Kafka's: classic, consumer, share or streams, "" if
    the broker does not report it.
    """

    name: str
    listed_by: tuple[Int32, ...]
    state: str = ""
    members: tuple[str, ...] = ()
    group_type: str = ""

    @property
    def positioned(self) -> bool:
        """Whether it commits offsets: share groups do not."""
        return self.group_type != SHARE_GROUP


@dataclass(frozen=True, slots=True)
class Sample:
    """Log ends of replicas at an earlier moment, which distinguish a slow replica from a stuck one.

    `leaders` are {partition: (leader, its epoch, version of its state)} at that moment, `visible` the high watermarks
    at these leaders.
    """

    taken_at: Moment
    ends: Mapping[TopicPartition, Mapping[Int32, int]]
    leaders: Mapping[TopicPartition, tuple[Int32, Int32, Int32]] = field(default_factory=dict)
    visible: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vantage:
    """One place from which a snapshot was taken: the servers that it reached, and the others with the error.

    A server is `broker 1` or `zookeeper HOST:PORT`; a plain address led to no broker.
    """

    name: str
    taken_at: Moment
    reached: tuple[str, ...]
    unreached: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """`id` is Kafka's own cluster id, "" if it is unknown.

    `security` and `controllers`, the KRaft controllers that the caller named, are known of a live cluster only: no
    snapshot file stores them.
    """

    id: str
    mode: Mode
    bootstrap: str = ""
    zookeeper: str = ""
    security: Unstored[ClientSecurity] = field(default_factory=ClientSecurity)
    controllers: Unstored[str] = ""

    @property
    def name(self) -> str:
        return self.id or self.bootstrap or self.zookeeper or "unknown cluster"


@dataclass(frozen=True, slots=True)
class ReachedBy:
    """How the caller named the cluster, for commands to paste; each is "" if it was not given.

    `profile` is the cluster's name in an inventory, `command_config` the file of client properties, and `zookeeper` and
    `controllers` are addresses, if the brokers' settings do not suffice. `besides` are the options given besides the
    name, since the inventory has other values or none.
    """

    profile: str = ""
    command_config: str = ""
    zookeeper: str = ""
    besides: tuple[str, ...] = ()
    controllers: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The options, besides an address, that a kfix command repeats: the name, or the client properties."""
        if self.profile:
            return ("-c", self.profile, *self.besides)
        return ("--command-config", self.command_config) if self.command_config else ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What all sources answered at one time. Its fields and their types are the format of snapshot files (ADR 51).

    taken_at           when reading began
    kfix               the version of kfix that read it
    cluster            which cluster it is, and how it was named
    sources            every source, with its error if it failed
    views              the cluster according to the metadata of each broker that responded
    zookeeper          what ZooKeeper records, read through one server; None if it was not read
    quorum             the quorum of KRaft, even if no controller answers; None if none was asked
    migration          the quorum to which a cluster with ZooKeeper migrates, by its controllers; None if ZooKeeper
                       records no migration
    broker_configs     the effective values of the settings that checks use, never a secret.
                       `inter.broker.protocol.version (newest)` is the newest version that the broker supports
    topic_configs      the same of topics
    groups             the groups as the brokers listed them, which does not prove that they work
    groups_complete    whether every live broker has listed its groups
    probes             FindCoordinator and OffsetFetch of groups
    offsets_logs       the logs of offsets partitions, where something was in doubt
    group_readings     groups that were asked for by name and some that rebalance, in depth, and of other groups the
                       offsets alone; with those of the first of two snapshots
    transaction_log    the producers of the open transactions that were seen; None if there was none
    offsets_sizes      the sizes of the replicas of the offsets partitions
    log_ends           the log ends of replicas, where a finding needs them
    visible            the high watermark at each broker that names itself leader
    epoch_ends         where an older leader epoch ended: another broker truncates what it has beyond
    ensemble           every ZooKeeper server by its own `srvr`, even if none has a quorum and `zookeeper` is None
    vantages           the places that the snapshot was merged from; a single one is listed only if it has a name
    samples            earlier log ends
    reassignments      the reassignments in progress, by the controller; None if they were not read
    addresses          the address of each broker
    silent             the brokers that did not respond, with the error
    memory             what earlier snapshots show
    foreign            {address: id of another cluster} of servers that were asked as this cluster's and are none of
                       it; nothing of them is used
    seconds            how long reading took
    stated_partitions  {topic: partition count} by the headers of a pasted text, which may show some partitions only;
                       None: every partition was read
    topic_ids          the ids of topics, which are new if a topic is deleted and created again; brokers before 2.8
                       report none
    fleet_facts        what only the questions of a fleet need; None if they were not asked for

    No file stores `origin`, the file of a snapshot that was not read live, `pasted`, what only a pasted text has,
    `reached_by`, `traffic`, {address: what it was asked}, `not_kept`, why this host did not store the snapshot, and
    `outdated`, sentences of a merged snapshot about sources that answered one place and, later, another one not.
    """

    taken_at: Moment
    kfix: str
    cluster: ClusterIdentity
    sources: tuple[Source, ...]
    views: Mapping[Int32, BrokerView]
    zookeeper: ZooKeeperView | None = None
    quorum: QuorumView | None = None
    migration: QuorumView | None = None
    broker_configs: Mapping[Int32, Mapping[str, str]] = field(default_factory=dict)
    topic_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    groups_complete: bool = False
    probes: tuple[CoordinatorProbe, ...] = ()
    offsets_logs: tuple[OffsetsLog, ...] = ()
    group_readings: tuple[GroupReading, ...] = ()
    transaction_log: TransactionLog | None = None
    offsets_sizes: tuple[OffsetsLogSize, ...] = ()
    log_ends: Mapping[TopicPartition, Mapping[Int32, LogEnd]] = field(default_factory=dict)
    visible: Mapping[TopicPartition, Mapping[Int32, int]] = field(default_factory=dict)
    epoch_ends: Mapping[TopicPartition, EpochEnd] = field(default_factory=dict)
    ensemble: tuple[ZooKeeperNode, ...] = ()
    vantages: tuple[Vantage, ...] = ()
    samples: tuple[Sample, ...] = ()
    reassignments: Mapping[TopicPartition, Assignment] | None = None
    addresses: Mapping[Int32, Endpoint] = field(default_factory=dict)
    silent: Mapping[Int32, str] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    foreign: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    stated_partitions: Mapping[str, Int32] | None = None
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    fleet_facts: FleetFacts | None = None
    origin: Unstored[str] = ""
    pasted: Unstored[PastedText | None] = None
    reached_by: Unstored[ReachedBy] = field(default_factory=ReachedBy)
    traffic: Unstored[Mapping[str, Traffic]] = field(default_factory=dict)
    not_kept: Unstored[str] = ""
    outdated: Unstored[tuple[str, ...]] = ()

    def reported_ends(self, tp: TopicPartition) -> dict[int, int]:
        """Returns {replica: its log end} of the replicas whose log end is known."""
        return {broker: end.end for broker, end in self.log_ends.get(tp, {}).items() if not end.error}

    def all_reported_ends(self) -> dict[TopicPartition, dict[int, int]]:
        return {tp: self.reported_ends(tp) for tp in self.log_ends}

    @property
    def failed_sources(self) -> tuple[Source, ...]:
        return tuple(s for s in self.sources if not s.ok)

    @property
    def hides_topics(self) -> bool:
        """Whether a broker holds replicas of topics that this client may not describe: what others hold is unknown."""
        return any(s.name.startswith(HIDDEN_TOPICS) for s in self.failed_sources)
