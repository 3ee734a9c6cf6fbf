"""What the core needs of the outside. Adapters satisfy these; the core imports no client library.

Seams: `authority` is ZooKeeper today and a KRaft quorum tomorrow, so nothing here names a znode except where only
ZooKeeper has the thing (`reelect_controller`); bulk readers of 50 000 partitions live behind the collector, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kfix.model.reading import ChangeResult, PartitionReading
from kfix.model.snapshot import (
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

    def reassignments(self) -> Mapping[TopicPartition, Assignment]: ...

    def partition_count(self, topic: str) -> int | None:
        """None where the topic does not exist."""
        ...

    def probe_group(self, group: str) -> CoordinatorProbe: ...

    def log_ends(self, tp: TopicPartition, brokers: tuple[int, ...]) -> Mapping[int, LogEnd]: ...


class ClusterChanger(Protocol):
    """The only door through which a cluster changes. Nothing retries; no answer gives `ChangeResult.unknown`."""

    def elect(self, tp: TopicPartition, *, unclean: bool) -> ChangeResult: ...

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> ChangeResult:
        """`None` cancels what is under way. The same list as before is the no-op that makes a controller look again."""
        ...

    def reelect_controller(self, *, epoch_version: int) -> ChangeResult:
        """Deletes `/controller` in one transaction with a check of `/controller_epoch`'s version (kafka-facts A)."""
        ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...
