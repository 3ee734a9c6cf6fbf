"""The quorum of a KRaft cluster: its controllers, its metadata log, and each broker's progress in it.

Source of every rule here: docs/facts/kraft.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.declared import Int16, Int32
from kfix.core.snapshot.naming import TopicPartition

#: The feature by which a partition keeps eligible leader replicas (KIP-966).
ELR_FEATURE = "eligible.leader.replicas.version"
#: The feature that determines which records the metadata log may hold.
METADATA_FEATURE = "metadata.version"
#: The feature by which the voters of the quorum may change (KIP-853).
KRAFT_FEATURE = "kraft.version"
#: Seconds since the last fetch of a broker that follows: the active controller answers a fetch after at most 0.5 s.
_FOLLOWS = 1.0
#: In records of the metadata log. A broker that follows is a fetch behind, and an idle controller writes two a second.
_FAR_BEHIND = 20


class QuorumReplica(NamedTuple):
    """A voter or an observer as the active controller sees it; brokers are observers, unless they are voters, too.

    `fetched` is the age in seconds of its last fetch and `caught_up` of its last moment without a lag, by the
    clock of the active controller; -1.0 if it is unknown. `log_end` is -1 if it is unknown.

    `directory` is the id of its log directory, by which a quorum whose voters may change (KIP-853) tells apart a voter
    and the same node with another disk; "" if it is unknown or does not matter, as in a static quorum.
    """

    node: Int32
    log_end: int
    fetched: float = -1.0
    caught_up: float = -1.0
    directory: str = ""


class ControllerAnswer(NamedTuple):
    """A controller that was asked at its own listener, and answered as the active one, as another one, or not at all.

    `node` is -1 if only its address is known. `refused`: nothing listens there. `error` is "" if it answered.
    """

    node: Int32
    address: str
    active: bool = False
    refused: bool = False
    error: str = ""

    @property
    def answered(self) -> bool:
        return not self.error


class EligibleLeaders(NamedTuple):
    """Who may lead a partition without a leader, and lose nothing (KIP-966): `replicas` may, once they are alive.

    `last_known` led it last; it is elected if no other replica is eligible.
    """

    replicas: tuple[Int32, ...]
    last_known: tuple[Int32, ...]


class OldLeader(NamedTuple):
    """The answer of a broker with old metadata that leads a partition, asked with the leader epoch of its successor.

    `error` is UNKNOWN_LEADER_EPOCH if it does not know that epoch: it still leads. Any other answer shows that the
    broker has learned of its successor.
    """

    broker: Int32
    epoch: Int32
    error: str

    @property
    def leads_still(self) -> bool:
        return self.error == "UNKNOWN_LEADER_EPOCH"


@dataclass(frozen=True, slots=True)
class QuorumView:
    """The reports of the controllers and the brokers about the quorum.

    - `leader`: the active controller, -1 if none answered as such; then epoch, high watermark, voters and observers are
      unknown
    - `through`: the broker that forwarded the request, if no controller could be asked itself; `forwarded`: the error
      of that request (a lost quorum lets it wait forever)
    - `offsets`: {broker: the metadata offset that it had applied before its metadata was read}; `later`: the same at
      the end, if read again, `apart` seconds later: if nothing has moved, no controller is active
    - `configured`: {voter: address} from the brokers' settings
    - `fenced`: None if the brokers do not report it (before 4.0)
    - `ignored_zookeeper`: a given address of ZooKeeper that was not read, since KRaft is the authority
    - `eligible`: partitions without a leader, and those led by their last in-sync replica, from the broker with the
      newest metadata; a missing one was not read, or the broker does not know the request (before 3.7)
    - `old_leaders`: the partitions of which a broker with old metadata was asked whether it still leads them
    - `topic_settings`: {topic: its own settings}; None if they were not read
    - `supported`: {node: the highest level of metadata.version that its software supports}, of brokers and controllers
      that report it
    - `migrating`: the addresses of the controllers that report the settings of a migration from ZooKeeper to KRaft
    - `controller_settings`: {controller: its settings in force that decide elections}; the active controller's hold for
      every topic without its own value, and no broker's do
    - `clock_ahead`: this host's clock minus the active controller's, in seconds; None: unknown
    """

    leader: Int32 = -1
    epoch: Int32 = -1
    high_watermark: int = -1
    voters: tuple[QuorumReplica, ...] = ()
    observers: tuple[QuorumReplica, ...] = ()
    controllers: tuple[ControllerAnswer, ...] = ()
    through: Int32 = -1
    forwarded: str = ""
    offsets: Mapping[Int32, int] = field(default_factory=dict)
    later: Mapping[Int32, int] = field(default_factory=dict)
    apart: float = 0.0
    configured: Mapping[Int32, str] = field(default_factory=dict)
    features: Mapping[str, Int16] = field(default_factory=dict)
    fenced: tuple[Int32, ...] | None = None
    ignored_zookeeper: str = ""
    eligible: Mapping[TopicPartition, EligibleLeaders] = field(default_factory=dict)
    topic_settings: Mapping[str, Mapping[str, str]] | None = None
    supported: Mapping[Int32, Int16] = field(default_factory=dict)
    old_leaders: Mapping[TopicPartition, OldLeader] = field(default_factory=dict)
    migrating: tuple[str, ...] = ()
    controller_settings: Mapping[Int32, Mapping[str, str]] = field(default_factory=dict)
    clock_ahead: int | None = None

    @property
    def read(self) -> bool:
        """Whether an active controller answered, itself or through a broker."""
        return self.leader >= 0

    @property
    def elr(self) -> bool | None:
        """Whether partitions keep eligible leader replicas; None if no broker reported the features."""
        return self.features.get(ELR_FEATURE, 0) > 0 if self.features else None

    @property
    def advancing(self) -> bool | None:
        """Whether any broker applied new metadata in between: then a controller is active. None: not read twice."""
        moved = [self.later[b] > self.offsets[b] for b in self.later if b in self.offsets]
        return any(moved) if moved else None

    def applied(self, broker: int) -> int:
        """Returns the newest metadata offset that the broker reported, -1 if it reported none."""
        return max(self.offsets.get(broker, -1), self.later.get(broker, -1))

    @property
    def newest_applied(self) -> int:
        """The newest metadata offset that any broker reported, -1 if none did."""
        return max((self.applied(broker) for broker in self.offsets), default=-1)

    def reached(self, broker: int) -> bool | None:
        """Returns whether the broker's metadata is as new as the previous high watermark, or became so.

        None if either is unknown. A broker that has applied the last committed record is at the high watermark less 1.
        """
        offset = self.applied(broker)
        return None if offset < 0 or self.high_watermark < 0 else offset >= self.high_watermark - 1

    def stale(self, broker: int) -> bool:
        """Returns whether the broker's metadata is old, and not just a record behind.

        A broker that has fetched within the last second learns of the high watermark with its next fetch. If it is
        still behind that high watermark a second later, it does not apply what it fetches.
        """
        if self.reached(broker) is not False:
            return False
        return not self.fetches(broker) or (broker in self.later and self.apart >= _FOLLOWS)

    def doubtful(self, broker: int) -> bool:
        """Returns whether the metadata offset of the broker has to be read again: it is stale, or far behind."""
        if self.stale(broker):
            return True
        return self.reached(broker) is False and self.high_watermark - self.applied(broker) > _FAR_BEHIND

    def fetches(self, broker: int) -> bool:
        """Returns whether the broker has fetched metadata within the last second, by the active controller."""
        return any(0 <= r.fetched < _FOLLOWS for r in (*self.observers, *self.voters) if r.node == broker)

    def follows(self, broker: int) -> bool:
        return bool(self.reached(broker)) or (self.fetches(broker) and not self.stale(broker))

    @property
    def behind(self) -> tuple[int, ...]:
        """The brokers whose metadata is old, although they were asked twice."""
        return tuple(sorted(b for b in self.later if self.stale(b)))
