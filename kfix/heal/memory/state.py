"""The state of the in-memory cluster: ZooKeeper's records, the controller's memory, each broker's own view."""

from dataclasses import dataclass, field
from enum import StrEnum

from kfix.core.snapshot.snapshot import (
    Assignment,
    Endpoint,
    LogEnd,
    PartitionState,
    PartitionView,
    TopicPartition,
)


class ElectionState(StrEnum):
    """`PartitionStateMachine`: the controller elects only for a partition whose phase is offline."""

    ONLINE = "online"
    OFFLINE = "offline"


@dataclass(slots=True)
class ManualClock:
    """Time passes only in `sleep`, which takes no real time. `step` sets the wall clock, as an administrator does."""

    at: float = 1_790_000_000.0
    slept: float = 0.0
    booted: str = "memory"

    def now(self) -> float:
        return self.at + self.slept

    def monotonic(self) -> float:
        return self.slept

    def boot(self) -> str:
        return self.booted

    def step(self, seconds: float) -> None:
        """Moves the wall clock by `seconds`, back if they are negative; no time passes."""
        self.at += seconds

    def reboot(self, name: str) -> None:
        """Restarts the monotonic clock at 0, as a reboot of the host does."""
        self.at, self.slept, self.booted = self.now(), 0.0, name

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


@dataclass(slots=True)
class MemoryBroker:
    """`leading` is from the last LeaderAndIsr; a broker that receives leader -1 aborts and keeps its role.

    `configs` are its own dynamic configs; `free` is the free disk space in bytes, None as before Kafka 3.3; `offline`
    are its replicas on a failed disk, which cannot be elected although the broker is alive.
    """

    id: int
    rack: str | None
    endpoint: Endpoint
    czxid: int = 0
    registered_ms: int = 0
    alive: bool = True
    silent: str = ""
    controller_seen: int = -1
    alive_seen: frozenset[int] = frozenset()
    views: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    leading: dict[TopicPartition, int] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    free: int | None = None
    offline: set[TopicPartition] = field(default_factory=set)

    @property
    def answers(self) -> bool:
        return self.alive and not self.silent


@dataclass(slots=True)
class Belief:
    """One partition in the controller's memory. `version` is the version of the znode it has read."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    version: int
    phase: ElectionState = ElectionState.ONLINE


@dataclass(slots=True)
class Records:
    """ZooKeeper's records, which every controller reads and writes. Each write takes the next zxid."""

    now_ms: int
    zxid: int = 100
    members_zxid: int = 100
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
    kraft_epoch: int = -1

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


#: Size of a record on disk, in bytes.
RECORD_BYTES = 100


@dataclass(slots=True)
class Logs:
    """Log ends by replica; a leader's append is copied to its in-sync followers at once.

    `epochs` are the last records' epochs, 0 if nothing is set; `open_transactions` the first offsets of open ones.
    """

    ends: dict[TopicPartition, dict[int, LogEnd]] = field(default_factory=dict)
    epochs: dict[TopicPartition, dict[int, int]] = field(default_factory=dict)
    open_transactions: dict[TopicPartition, int] = field(default_factory=dict)

    def end(self, tp: TopicPartition, broker: int) -> LogEnd | None:
        return self.ends.get(tp, {}).get(broker)

    def epoch(self, tp: TopicPartition, broker: int) -> int:
        """Returns the leader epoch of the last record, or -1 if there is none."""
        end = self.end(tp, broker)
        return -1 if end is None or end.end <= end.start else self.epochs.get(tp, {}).get(broker, 0)

    def bytes(self, tp: TopicPartition, broker: int) -> int:
        end = self.end(tp, broker)
        return 0 if end is None else (end.end - end.start) * RECORD_BYTES

    def write(self, tp: TopicPartition, broker: int, end: LogEnd, epoch: int) -> None:
        self.ends.setdefault(tp, {})[broker] = end
        self.epochs.setdefault(tp, {})[broker] = epoch

    def drop(self, tp: TopicPartition, broker: int) -> None:
        """The broker deletes its replica on the controller's request."""
        self.ends.get(tp, {}).pop(broker, None)
        self.epochs.get(tp, {}).pop(broker, None)

    def truncate(self, tp: TopicPartition, follower: int, leader: int) -> None:
        """A follower truncates records that its leader lacks as soon as it follows."""
        theirs, own = self.end(tp, leader) or LogEnd(0, 0), self.end(tp, follower)
        if own is not None and own.end > theirs.end:
            self.write(tp, follower, LogEnd(min(own.start, theirs.end), theirs.end), max(0, self.epoch(tp, leader)))
