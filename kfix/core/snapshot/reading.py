"""Fresh, small readings for a runbook immediately before it changes anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import NO_LEADER, Assignment, PartitionState, PartitionView, TopicPartition

#: Seconds. A broker that runs fetches metadata at least every 0.5 s (docs/facts/kraft.md).
_FETCHES_WITHIN = 2.0


class NodeRole(StrEnum):
    """What a process of a cluster is; one that is both is a broker."""

    BROKER = "broker"
    CONTROLLER = "controller"


#: A process of the cluster by its role and its id.
NodeName = tuple[NodeRole, int]


class StartMark(NamedTuple):
    """A moment between starts of nodes: ZooKeeper's newest czxid of a registration or, on KRaft, the end of the
    metadata log, with the epoch of its last record.
    """

    number: int
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """One partition as it is recorded and as each responding broker reports it. `errors`: sources that failed.

    The record is ZooKeeper's or a KRaft quorum's. `registered` are the brokers that are alive by it, None if
    that could not be read; then no broker is known to be alive. `eligible` is known of a partition whose ISR is not
    full, on KRaft, and only there.
    """

    tp: TopicPartition
    state: PartitionState | None
    assignment: Assignment | None
    registered: frozenset[int] | None
    views: Mapping[int, PartitionView] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    eligible: EligibleLeaders | None = None

    @property
    def isr(self) -> tuple[int, ...] | None:
        """The recorded ISR; None if it was not read. A broker's own ISR may be stale and never stands in for it."""
        return None if self.state is None else self.state.isr

    @property
    def live_isr(self) -> tuple[int, ...] | None:
        """The live replicas that hold every acknowledged record: of the ISR, or without a leader of the ELR."""
        if self.state is None or self.registered is None:
            return None
        without = self.eligible if self.state.leader == NO_LEADER else None
        complete = (*self.state.isr, *(() if without is None else without.replicas))
        return tuple(b for b in dict.fromkeys(complete) if b in self.registered)

    @property
    def leaderless(self) -> bool | None:
        """No leader, or one that is not registered. None: unknown."""
        if self.state is None or self.registered is None:
            return None
        return self.state.leader == NO_LEADER or self.state.leader not in self.registered

    @property
    def eligible_needed(self) -> bool | None:
        """On KRaft: a leader can be found only among replicas outside the ISR, or no longer at all. None: unknown."""
        if self.eligible is not None and (self.eligible.replicas or self.eligible.last_known):
            return True
        return self.leaderless

    @property
    def diverged(self) -> bool | None:
        """A registered broker's view names another leader or leader epoch than the record. None: unknown."""
        if self.state is None or not self.views:
            return None
        return any(
            (v.leader, v.leader_epoch) != (self.state.leader, self.state.leader_epoch) for v in self.views.values()
        )


class RegisteredAs(StrEnum):
    """How a KRaft cluster has a broker id. `UNREPORTED`: it is not alive, and brokers before 4.0 report no more."""

    ALIVE = "alive"
    FENCED = "fenced"
    ABSENT = "absent"
    UNREPORTED = "unreported"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker id in the record of a KRaft cluster, and further facts about it.

    `answers`: something answers at its address, which is no other broker's. `fetched` is the number of seconds since
    its last fetch of metadata, None if the active controller knows none. `replicas` is the number of partitions
    assigned to it, including those being moved there. `hidden` states why there may be more of them, in topics that
    this client may not describe; "" if there are none.
    """

    state: RegisteredAs
    voter: bool
    answers: bool
    fetched: float | None
    replicas: int
    hidden: str = ""

    @property
    def fetches(self) -> bool:
        return self.fetched is not None and self.fetched < _FETCHES_WITHIN

    @property
    def runs(self) -> bool:
        """Whether its process runs, even if it is not alive by the record: it answers, or it fetches metadata."""
        return self.answers or self.fetches


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The cluster's answer to one change. `code` is Kafka's (0: no error), -1 without an answer: the result is unknown.

    A code of 0 is not success (docs/facts/kraft.md): the verify step reads the state again.
    """

    code: int
    name: str
    message: str = ""

    @property
    def accepted(self) -> bool:
        return self.code == 0

    @property
    def unknown(self) -> bool:
        return self.code == -1


@dataclass(frozen=True, slots=True)
class NodeLevels:
    """The metadata.version of one node by its own answer: the one in force, and the highest that its software supports.

    Both are -1 with an `error`.
    """

    in_force: int = -1
    supported: int = -1
    error: str = ""


class ResourceKind(StrEnum):
    """Resources that have their own dynamic configuration."""

    TOPIC = "topic"
    BROKER = "broker"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """The value in force, and whether it is set on this resource itself.

    `value` is None if Kafka hides it, and for unclean elections on KRaft if no controller reports it. Not `own`: the
    value is the cluster-wide dynamic default, from server.properties, or Kafka's default.
    """

    value: str | None
    own: bool


@dataclass(frozen=True, slots=True)
class LogDirs:
    """Log sizes of one broker, in bytes. `free` is None if the broker does not report it (before 3.3)."""

    sizes: Mapping[TopicPartition, int]
    free: int | None = None


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of one replica's log. The replica with the higher (`epoch`, `end`) holds more (docs/facts/data-loss.md).

    `epoch` is the leader epoch of the last record, -1 if the log is empty or the epoch is unknown.
    """

    start: int
    end: int
    epoch: int = -1
    error: str = ""


@dataclass(frozen=True, slots=True)
class StableEnd:
    """Offsets at a leader. `stable` below `high_watermark` means that a transaction is open from there on."""

    stable: int
    high_watermark: int
