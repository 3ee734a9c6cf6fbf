"""One snapshot of one cluster: what every source answered, and which sources did not.

A field is never guessed. What was not read is `None` (or absent from its mapping) and its source is in `sources` with
the error: unknown is neither absent nor healthy. Times are seconds since the epoch, UTC, unless a name ends in `_ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kfix.model.cluster.at_risk import AtRisk
from kfix.model.cluster.client_security import ClientSecurity
from kfix.model.cluster.coordinator_probe import CoordinatorProbe as CoordinatorProbe  # noqa: PLC0414
from kfix.model.cluster.group_reading import SHARE_GROUP, GroupReading
from kfix.model.cluster.log_ends import EpochEnd as EpochEnd  # noqa: PLC0414
from kfix.model.cluster.log_ends import LogEnd as LogEnd  # noqa: PLC0414
from kfix.model.cluster.moves import MoveSeen
from kfix.model.cluster.naming import Endpoint as Endpoint  # noqa: PLC0414 - part of this module's interface
from kfix.model.cluster.naming import TopicPartition as TopicPartition  # noqa: PLC0414
from kfix.model.cluster.offsets_log import LoggedGroup as LoggedGroup  # noqa: PLC0414
from kfix.model.cluster.offsets_log import OffsetsLog as OffsetsLog  # noqa: PLC0414
from kfix.model.cluster.offsets_log import OpenTransaction as OpenTransaction  # noqa: PLC0414
from kfix.model.cluster.offsets_size import OffsetsLogSize
from kfix.model.cluster.pasted import PastedText
from kfix.model.cluster.quorum import QuorumView
from kfix.model.cluster.traffic import Traffic
from kfix.model.cluster.transactions import TransactionLog

NO_LEADER = -1
#: The setting of a broker that names the version in which brokers talk to each other.
PROTOCOL = "inter.broker.protocol.version"
#: Among a broker's settings, although it is no setting of Kafka: the default of `PROTOCOL`, which is the newest version
#: that the software supports. Absent if the broker did not report it.
NEWEST_PROTOCOL = f"{PROTOCOL} (newest)"
#: The source of the settings of topics, if those of some topics or of all were not read. Before a broker's name, it is
#: the source of one broker, and another one may have answered.
TOPIC_CONFIGS = "topic configs"
#: Before a topic's name, the source of the settings that ZooKeeper records of that topic.
TOPIC_ZNODE = "znode /config/topics/"
#: Sources of this name failed where a broker holds replicas of topics that this client may not describe.
HIDDEN_TOPICS = "topics of broker"
#: In the error of a ZooKeeper server that responds but refuses `srvr`.
SRVR_REFUSED = "not allowed"


class Mode(StrEnum):
    ZOOKEEPER = "zk"
    KRAFT = "kraft"
    UNKNOWN = "unknown"


class PartitionView(NamedTuple):
    """A partition in the metadata cache of one broker (Metadata v7). `error` is Kafka's code, 5 for no leader."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    error: int = 0


class PartitionState(NamedTuple):
    """The znode `/brokers/topics/T/partitions/P/state`: the controllers' shared record of the partition."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int
    mzxid: int
    mtime_ms: int


class Assignment(NamedTuple):
    """The replicas of a partition in order; the first is the preferred leader."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

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

    broker: int
    controller: int
    alive: Mapping[int, Endpoint]
    racks: Mapping[int, str]
    partitions: Mapping[TopicPartition, PartitionView]


@dataclass(frozen=True, slots=True)
class Registration:
    """The ephemeral znode `/brokers/ids/N`; its czxid is the broker epoch, a restart makes a new one.

    `registered_ms` is when ZooKeeper made the znode, by ZooKeeper's clock as all its times.
    """

    broker: int
    endpoint: Endpoint | None
    rack: str | None
    czxid: int
    registered_ms: int


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """The znodes `/controller` and `/controller_epoch`. `broker` is None where `/controller` does not exist."""

    broker: int | None
    elected_ms: int
    czxid: int
    epoch: int
    epoch_version: int
    epoch_mzxid: int
    kraft_epoch: int = -1

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
    """What kfix reads through one server of ZooKeeper. `migrating_since_ms` is when `/migration` was created, or 0.

    `clock_ahead` is this host's clock minus the server's, in seconds; times are by this host's clock. None: unknown.
    `members_zxid` is the transaction that last created or removed a registration, -1 if it is unknown.
    """

    connect: str
    server: str
    controller: ControllerNode
    registrations: Mapping[int, Registration]
    assignments: Mapping[TopicPartition, Assignment]
    states: Mapping[TopicPartition, PartitionState]
    reassigning: Mapping[TopicPartition, tuple[int, ...]]
    deleting: frozenset[str]
    topic_configs: Mapping[str, Mapping[str, str]]
    isr_notifications: int = 0
    preferred_election_pending: bool = False
    migrating: bool = False
    migrating_since_ms: int = 0
    clock_ahead: int | None = None
    members_zxid: int = -1


@dataclass(frozen=True, slots=True)
class Group:
    """A group as the brokers listed it. `listed_by` does not prove health (docs/facts/operations.md).

    `state` is "" if the group was not described. `group_type` is Kafka's: classic, consumer, share or streams, "" where
    the broker does not report it.
    """

    name: str
    listed_by: tuple[int, ...]
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

    `leaders` are {partition: (leader, its epoch, version of its state)} then, `visible` the high watermarks at
    these leaders.
    """

    taken_at: float
    ends: Mapping[TopicPartition, Mapping[int, int]]
    leaders: Mapping[TopicPartition, tuple[int, int, int]] = field(default_factory=dict)
    visible: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vantage:
    """One place that a snapshot was taken from: which servers it reached, and which not, with the error."""

    name: str
    taken_at: float
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
    security: ClientSecurity = field(default_factory=ClientSecurity)
    controllers: str = ""

    @property
    def name(self) -> str:
        return self.id or self.bootstrap or self.zookeeper or "unknown cluster"


@dataclass(frozen=True, slots=True)
class ReachedBy:
    """How the caller named the cluster, as commands to paste have to name it again; each is "" if it was not given.

    `profile` is the cluster's name in an inventory, `command_config` the file of client properties, and `zookeeper` and
    `controllers` are addresses, where they are not left to the brokers' settings. `besides` are the options that were
    given besides the name, since the inventory has other values or none.
    """

    profile: str = ""
    command_config: str = ""
    zookeeper: str = ""
    besides: tuple[str, ...] = ()
    controllers: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The options that a command of kfix repeats apart from an address: the name, or the client properties."""
        if self.profile:
            return ("-c", self.profile, *self.besides)
        return ("--command-config", self.command_config) if self.command_config else ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sources, read in `seconds`. `origin` names the file of a snapshot that was not read live.

    `group_readings` are of the groups asked for by name and of some that rebalance, and of other groups the offsets
    alone, with those of the first of two snapshots. `transaction_log`
    names the producers of the open transactions that were seen; None if there was none. `ensemble` holds
    every ZooKeeper server by its own `srvr`, even if none has a quorum and `zookeeper` is None. `quorum` is that of
    KRaft, even if no controller answers; None if none was asked. `migration` is that to which a cluster with ZooKeeper
    migrates, by its controllers; None if ZooKeeper records no migration.
    `visible` is the high watermark at a broker that names itself leader. `vantages` are the places that the snapshot
    was merged from; a single one is listed only if it has a name. `stated_partitions` is {topic: partition count} by
    the headers of a pasted text, which may show some partitions only; None: every partition was read.
    Of earlier snapshots, `remembered_alive` is when one had the answer of a broker, `remembered_dead` when it was dead,
    `remembered_well` when it was in every ISR that it belongs to (KRaft only), `remembered_epochs` when the quorum was
    last in each of its leader epochs, `remembered_applied` when no broker was first found to have applied more of the
    metadata than this offset, `remembered_moves` how far the reassignments were, and `remembered_at_risk` who had every
    record of the partitions that lacked replicas.
    `foreign` are {address: id of another cluster} of servers that were asked as this cluster's and are none of it. No
    file stores `pasted`, what only a pasted text has, `reached_by`, `traffic`, {address: what it was asked}, and
    `not_kept`, why this host did not store the snapshot. `outdated` are sentences of a merged snapshot about sources
    that answered one place and, later, another one not.
    """

    taken_at: float
    kfix: str
    cluster: ClusterIdentity
    sources: tuple[Source, ...]
    views: Mapping[int, BrokerView]
    zookeeper: ZooKeeperView | None = None
    quorum: QuorumView | None = None
    migration: QuorumView | None = None
    broker_configs: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    topic_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    groups_complete: bool = False
    probes: tuple[CoordinatorProbe, ...] = ()
    offsets_logs: tuple[OffsetsLog, ...] = ()
    group_readings: tuple[GroupReading, ...] = ()
    transaction_log: TransactionLog | None = None
    offsets_sizes: tuple[OffsetsLogSize, ...] = ()
    log_ends: Mapping[TopicPartition, Mapping[int, LogEnd]] = field(default_factory=dict)
    visible: Mapping[TopicPartition, Mapping[int, int]] = field(default_factory=dict)
    epoch_ends: Mapping[TopicPartition, EpochEnd] = field(default_factory=dict)
    ensemble: tuple[ZooKeeperNode, ...] = ()
    vantages: tuple[Vantage, ...] = ()
    samples: tuple[Sample, ...] = ()
    reassignments: Mapping[TopicPartition, Assignment] | None = None
    addresses: Mapping[int, Endpoint] = field(default_factory=dict)
    silent: Mapping[int, str] = field(default_factory=dict)
    remembered_groups: tuple[str, ...] = ()
    remembered_brokers: Mapping[int, str] = field(default_factory=dict)
    remembered_alive: Mapping[int, float] = field(default_factory=dict)
    remembered_dead: Mapping[int, float] = field(default_factory=dict)
    remembered_well: Mapping[int, float] = field(default_factory=dict)
    remembered_epochs: Mapping[int, float] = field(default_factory=dict)
    remembered_applied: Mapping[int, float] = field(default_factory=dict)
    remembered_moves: Mapping[TopicPartition, MoveSeen] = field(default_factory=dict)
    remembered_at_risk: Mapping[TopicPartition, AtRisk] = field(default_factory=dict)
    foreign: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    origin: str = ""
    stated_partitions: Mapping[str, int] | None = None
    pasted: PastedText | None = None
    reached_by: ReachedBy = field(default_factory=ReachedBy)
    traffic: Mapping[str, Traffic] = field(default_factory=dict)
    not_kept: str = ""
    outdated: tuple[str, ...] = ()

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
