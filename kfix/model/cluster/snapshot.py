"""One look at one cluster: what every source said, and which sources said nothing.

A field is never guessed. What was not read is `None` (or absent from its mapping) and its source is in `sources` with
the error: unknown is neither absent nor healthy. Times are seconds since the epoch, UTC, unless a name says `_ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kfix.model.cluster.client_security import ClientSecurity

NO_LEADER = -1
#: Among a broker's settings, though no setting of Kafka: the default of inter.broker.protocol.version, which is what
#: the program itself speaks, whatever the setting holds it back to. Absent where the broker did not tell it.
NEWEST_PROTOCOL = "inter.broker.protocol.version (newest)"
#: In the error of a ZooKeeper server that answers, and not this question.
SRVR_REFUSED = "not allowed"


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Mode(StrEnum):
    ZOOKEEPER = "zk"
    KRAFT = "kraft"
    UNKNOWN = "unknown"


class PartitionView(NamedTuple):
    """A partition in ONE broker's own metadata cache (Metadata v7). `error` is Kafka's code: 5 = no leader it knows."""

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


@dataclass(frozen=True, slots=True)
class Source:
    """One question to one place. `name` such as `broker 2`, `zookeeper 127.0.0.1:2181`, `coordinator probe`."""

    name: str
    ok: bool
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerView:
    """The cluster as one broker believes it to be, asked over a connection of its own."""

    broker: int
    controller: int
    alive: Mapping[int, Endpoint]
    racks: Mapping[int, str]
    partitions: Mapping[TopicPartition, PartitionView]


@dataclass(frozen=True, slots=True)
class Registration:
    """The ephemeral znode `/brokers/ids/N`; its czxid is the broker epoch, a restart makes a new one."""

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


@dataclass(frozen=True, slots=True)
class ZooKeeperNode:
    """One member of the ensemble as `srvr` describes it, asked by itself.

    `mode` is leader, follower, observer, standalone, read-only, `no quorum`, or "" where it did not tell. `zxid` is its
    last transaction (-1: not told): its high 32 bits count the elections of the ensemble.
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
        """`srvr` is switched off there: it lives, and nobody knows more."""
        return SRVR_REFUSED in self.error


@dataclass(frozen=True, slots=True)
class ZooKeeperView:
    """Everything kfix reads of ZooKeeper, through one server of the ensemble (`server`)."""

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


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group as the brokers listed it. `listed_by` proves nothing about its health (kafka-facts L)."""

    name: str
    listed_by: tuple[int, ...]
    state: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoordinatorProbe:
    """FindCoordinator asked of a live broker, then OffsetFetch of the coordinator it names.

    `find_error`/`fetch_error` are Kafka's codes (0 fine, 15 COORDINATOR_NOT_AVAILABLE, 14 loading, 16 not coordinator);
    None where the question was not asked; -1 where no answer came, and `error` says why.
    """

    group: str
    partition: int
    find_error: int | None
    coordinator: int | None
    fetch_error: int | None
    committed: int | None = None
    error: str = ""
    seconds: float = 0.0

    @property
    def answers(self) -> bool:
        return self.find_error == 0 and self.fetch_error == 0


class LogEnd(NamedTuple):
    """What one replica holds, by ListOffsets with replica id -2: works without a leader (kafka-facts F)."""

    start: int
    end: int
    error: str = ""


class EpochEnd(NamedTuple):
    """Where the leader of today says that an older epoch ended (OffsetForLeaderEpoch): what follows there differs.

    `epoch` is the one asked for, `end` the first offset that is not of it; -1 with `error` where it did not tell. A
    look from a vantage asks for the one before the leader's own and keeps the epoch that the answer names.
    """

    leader: int
    epoch: int
    end: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """Log ends of replicas at an earlier moment: only over time is a slow replica told from a stuck one.

    `leaders` are {partition: (leader, its epoch, version of its state)} then, `visible` the high watermarks at
    these leaders.
    """

    taken_at: float
    ends: Mapping[TopicPartition, Mapping[int, int]]
    leaders: Mapping[TopicPartition, tuple[int, int, int]] = field(default_factory=dict)
    visible: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vantage:
    """One place that a snapshot was taken from: whom it reached, and whom it did not, with the error."""

    name: str
    taken_at: float
    reached: tuple[str, ...]
    unreached: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """`id` is Kafka's own cluster id, "" where nobody told it. `security` is known of a live cluster only."""

    id: str
    mode: Mode
    bootstrap: str = ""
    zookeeper: str = ""
    security: ClientSecurity = field(default_factory=ClientSecurity)

    @property
    def name(self) -> str:
        return self.id or self.bootstrap or self.zookeeper or "unknown cluster"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sources of one look, which took `seconds`. `origin` says where it came from when it was not read live.

    `ensemble` is every ZooKeeper server by its own word, also where none of them has a quorum and `zookeeper` is None.
    `visible` is the high watermark at a broker that calls itself leader, beside its log end. `vantages` are the places
    that the look was put together from; one alone is told only where it has a name.
    """

    taken_at: float
    kfix: str
    cluster: ClusterIdentity
    sources: tuple[Source, ...]
    views: Mapping[int, BrokerView]
    zookeeper: ZooKeeperView | None = None
    broker_configs: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    topic_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    groups_complete: bool = False
    probes: tuple[CoordinatorProbe, ...] = ()
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
    seconds: float = 0.0
    origin: str = ""

    def told_ends(self, tp: TopicPartition) -> dict[int, int]:
        """{replica: its log end}, of those that told."""
        return {broker: end.end for broker, end in self.log_ends.get(tp, {}).items() if not end.error}

    @property
    def failed_sources(self) -> tuple[Source, ...]:
        return tuple(s for s in self.sources if not s.ok)
