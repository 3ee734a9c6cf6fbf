"""What the core needs of the outside. Adapters satisfy these; the core imports no client library.

Seams: `authority` is ZooKeeper today and a KRaft quorum tomorrow, so nothing here names a znode except where only
ZooKeeper has the thing (`reelect_controller`); bulk readers of 50 000 partitions live behind the collector, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kfix.model.cluster.reading import (
    ChangeResult,
    ConfigValue,
    LogDirs,
    LogTail,
    PartitionReading,
    ResourceKind,
    StableEnd,
)
from kfix.model.cluster.snapshot import (
    Assignment,
    ClusterIdentity,
    ControllerNode,
    CoordinatorProbe,
    LogEnd,
    TopicPartition,
)


class ClusterReader(Protocol):
    """Fresh reads, never cached; each raises `UnreachableError` where its source does not answer in time."""

    def identity(self) -> ClusterIdentity: ...

    def registered_brokers(self) -> frozenset[int]: ...

    def controller(self) -> ControllerNode: ...

    def migrating(self) -> bool:
        """True while a ZooKeeper-to-KRaft migration is under way: then `/controller` must not be touched."""
        ...

    def partition(self, tp: TopicPartition) -> PartitionReading: ...

    def recorded(self, tp: TopicPartition) -> PartitionReading:
        """Without the brokers' views, so that no hung broker makes it old: what a change rests on is read by this."""
        ...

    def every_partition(self) -> Mapping[TopicPartition, PartitionReading]:
        """All partitions, with all brokers' views: some seconds on a large cluster. `errors`: of who told none."""
        ...

    def reassignments(self) -> Mapping[TopicPartition, Assignment]: ...

    def partition_count(self, topic: str) -> int | None:
        """None where the topic does not exist."""
        ...

    def probe_group(self, group: str) -> CoordinatorProbe: ...

    def log_ends(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogEnd]: ...

    def log_tails(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogTail]:
        """As `log_ends`, with the epoch of each last record: some twenty questions a replica instead of one."""
        ...

    def assignments(self, topic: str) -> Mapping[TopicPartition, Assignment]:
        """All partitions of a topic as recorded; empty where it does not exist."""
        ...

    def configs(self, kind: ResourceKind, name: str, keys: tuple[str, ...]) -> Mapping[str, ConfigValue]:
        """A key that the resource does not know is absent. A broker's are asked of that broker itself."""
        ...

    def log_dirs(self, broker: int) -> LogDirs: ...

    def stable_end(self, tp: TopicPartition) -> StableEnd:
        """Asked of the partition's leader."""
        ...


class ClusterChanger(Protocol):
    """The only door through which a cluster changes. Nothing retries; no answer gives `ChangeResult.unknown`."""

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult: ...

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        """`None` cancels what is under way. The same list as before is the no-op that makes a controller look again."""
        ...

    def reelect_controller(self, *, epoch_version: int) -> ChangeResult:
        """Deletes `/controller` in one transaction with a check of `/controller_epoch`'s version (kafka-facts A)."""
        ...

    def alter_configs(self, kind: ResourceKind, name: str, changes: Mapping[str, str | None]) -> ChangeResult:
        """Sets these keys on this resource and no other; `None` takes the resource's own value away."""
        ...


class ClusterLock(Protocol):
    """One run a cluster at a time, wherever the operators sit."""

    @property
    def scope(self) -> str:
        """Who sees it, in words, such as `all kfix on this cluster (ZooKeeper)`."""
        ...

    def take(self, holder: Mapping[str, str]) -> None:
        """`HeldError` names who has it; `UnreachableError`: there is no such lock here."""
        ...

    def held(self) -> bool:
        """False as soon as it may have been lost, as by an expired session."""
        ...

    def release(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...
