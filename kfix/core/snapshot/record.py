"""The authority's record of a cluster's brokers and partitions: ZooKeeper's, or the KRaft quorum's.

ZooKeeper is read itself. Of the quorum's record a client sees only what brokers have applied, so the KRaft record is
the metadata of the broker that had applied most (docs/facts/kraft.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.snapshot.naming import TopicPartition
from kfix.core.snapshot.snapshot import Assignment, Mode, PartitionState, Registration


@dataclass(frozen=True, slots=True)
class RecordedController:
    """The active controller. `node` is None if there is none; `since_ms` is 0 if it is unknown."""

    node: int | None
    epoch: int
    since_ms: int = 0


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """`source` is the server that was read, such as `zookeeper 127.0.0.1:2181` or `broker 2`.

    `registrations` are of the brokers that are alive: registered in ZooKeeper, unfenced on KRaft. A KRaft record has no
    times and no versions: `registered_ms` and `mtime_ms` are 0, `czxid`, `mzxid` and `version` are -1. `topic_settings`
    are {topic: its own settings}; None if they were not read.
    """

    mode: Mode
    source: str
    controller: RecordedController | None
    registrations: Mapping[int, Registration]
    assignments: Mapping[TopicPartition, Assignment]
    states: Mapping[TopicPartition, PartitionState]
    reassigning: Mapping[TopicPartition, tuple[int, ...]]
    deleting: frozenset[str]
    topic_settings: Mapping[str, Mapping[str, str]] | None

    @property
    def dated(self) -> bool:
        """Whether a state carries the time of its last change."""
        return self.mode is Mode.ZOOKEEPER
