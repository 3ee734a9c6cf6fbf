"""Fresh, small readings: what a runbook looks at in the same second before it changes anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kfix.model.cluster.snapshot import NO_LEADER, Assignment, PartitionState, PartitionView, TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """One partition as ZooKeeper records it and as each answering broker believes it. `errors`: sources that failed.

    `registered` is None where the registrations could not be read; then nothing is known to be alive.
    """

    tp: TopicPartition
    state: PartitionState | None
    assignment: Assignment | None
    registered: frozenset[int] | None
    views: Mapping[int, PartitionView] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def isr(self) -> tuple[int, ...] | None:
        """ZooKeeper's ISR; None where it was not read. A broker's own ISR may be stale and never stands in for it."""
        return None if self.state is None else self.state.isr

    @property
    def live_isr(self) -> tuple[int, ...] | None:
        if self.state is None or self.registered is None:
            return None
        return tuple(b for b in self.state.isr if b in self.registered)

    @property
    def leaderless(self) -> bool | None:
        """No leader, or one that is not registered. None: cannot know."""
        if self.state is None or self.registered is None:
            return None
        return self.state.leader == NO_LEADER or self.state.leader not in self.registered

    @property
    def diverged(self) -> bool | None:
        """A registered broker's view names another leader or leader epoch than ZooKeeper. None: cannot know."""
        if self.state is None or not self.views:
            return None
        return any(
            (v.leader, v.leader_epoch) != (self.state.leader, self.state.leader_epoch) for v in self.views.values()
        )


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """What the cluster answered to one change. `code` is Kafka's (0 fine), -1 when no answer came: then nobody knows.

    A code of 0 is not success (kraft-facts 4d): the verify step reads the state again.
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


class ResourceKind(StrEnum):
    """What has dynamic configuration of its own."""

    TOPIC = "topic"
    BROKER = "broker"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """What is in force, and whether it is set on this resource itself. `value` is None where Kafka hides it.

    Not `own` means that it comes from the cluster-wide dynamic default, from server.properties or from Kafka's default.
    """

    value: str | None
    own: bool


@dataclass(frozen=True, slots=True)
class LogDirs:
    """What one broker holds, in bytes. `free` is None where it does not tell (before 3.3, DescribeLogDirs 4)."""

    sizes: Mapping[TopicPartition, int]
    free: int | None = None


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of one replica's log. The replica with the higher (`epoch`, `end`) holds more (kafka-facts F).

    `epoch` is the leader epoch of the last record, -1 where the log is empty or it could not be told.
    """

    start: int
    end: int
    epoch: int = -1
    error: str = ""


@dataclass(frozen=True, slots=True)
class StableEnd:
    """Of a partition's leader. `stable` below `high_watermark` means that a transaction is open from there on."""

    stable: int
    high_watermark: int
