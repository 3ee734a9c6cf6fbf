"""What the in-memory cluster consists of: ZooKeeper's records, the controller's memory, each broker's own belief."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kfix.model.snapshot import (
    Assignment,
    Endpoint,
    LogEnd,
    PartitionState,
    PartitionView,
    TopicPartition,
)


class Phase(StrEnum):
    """`PartitionStateMachine`: an election is only held for a partition the controller thinks offline."""

    ONLINE = "online"
    OFFLINE = "offline"


@dataclass(slots=True)
class ManualClock:
    """Time passes only where somebody sleeps; a sleep takes no real time."""

    at: float = 1_790_000_000.0
    slept: float = 0.0

    def now(self) -> float:
        return self.at + self.slept

    def monotonic(self) -> float:
        return self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


@dataclass(slots=True)
class MemoryBroker:
    """`leading` is what the last LeaderAndIsr told it; a broker told of leader -1 aborts and stays as it was (B3)."""

    id: int
    rack: str | None
    endpoint: Endpoint
    czxid: int
    registered_ms: int
    alive: bool = True
    silent: str = ""
    controller_seen: int = -1
    alive_seen: frozenset[int] = frozenset()
    views: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    leading: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(slots=True)
class Belief:
    """One partition in the controller's memory. `version` is the znode version it knows."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    version: int
    phase: Phase = Phase.ONLINE


@dataclass(slots=True)
class Records:
    """ZooKeeper: what every controller reads and writes. Each write takes the next zxid."""

    now_ms: int
    zxid: int = 100
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    assignments: dict[TopicPartition, Assignment] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    controller: int | None = None
    controller_czxid: int = 0
    elected_ms: int = 0
    epoch: int = 0
    epoch_version: int = 0
    epoch_mzxid: int = 0
    migrating: bool = False

    def next_zxid(self) -> int:
        self.zxid += 1
        return self.zxid

    def write_state(
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        isr: tuple[int, ...],
        controller_epoch: int | None = None,
    ) -> PartitionState:
        old = self.states.get(tp)
        state = PartitionState(
            leader=leader,
            leader_epoch=leader_epoch,
            isr=isr,
            controller_epoch=self.epoch if controller_epoch is None else controller_epoch,
            version=0 if old is None else old.version + 1,
            mzxid=self.next_zxid(),
            mtime_ms=self.now_ms,
        )
        self.states[tp] = state
        return state


@dataclass(slots=True)
class Logs:
    """Log ends by replica; a leader's append is copied to its in-sync followers at once."""

    ends: dict[TopicPartition, dict[int, LogEnd]] = field(default_factory=dict)

    def truncate_to(self, tp: TopicPartition, leader: int) -> None:
        """A follower that rejoins throws away what its leader never had."""
        ends = self.ends.setdefault(tp, {})
        end = ends.get(leader, LogEnd(0, 0)).end
        for broker, old in ends.items():
            ends[broker] = LogEnd(min(old.start, end), min(old.end, end))
