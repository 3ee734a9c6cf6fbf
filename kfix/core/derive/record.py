"""One record of the cluster from whichever authority was read, so that no rule has to distinguish them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from kfix.core.derive.quorum import fresh_views, listed_alive
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.record import ClusterRecord, RecordedController
from kfix.core.snapshot.snapshot import (
    Assignment,
    BrokerView,
    Mode,
    PartitionState,
    PartitionView,
    Registration,
    Snapshot,
    TopicPartition,
    ZooKeeperView,
)

T = TypeVar("T")


def record_of(snapshot: Snapshot) -> ClusterRecord | None:
    """Returns the record of the authority; None if it was not read, as in a pasted text."""
    return recorded_by(snapshot.zookeeper, snapshot.quorum, snapshot.views, snapshot.reassignments)


def recorded_by(
    zookeeper: ZooKeeperView | None,
    quorum: QuorumView | None,
    views: Mapping[int, BrokerView],
    moves: Mapping[TopicPartition, Assignment] | None = None,
) -> ClusterRecord | None:
    """As `record_of`, from sources that are not a snapshot yet. `moves` are the quorum's reassignments."""
    if zookeeper is not None:
        return _of_zookeeper(zookeeper)
    return None if quorum is None else _of_quorum(quorum, views, moves or {})


def newest_partition(tp: TopicPartition, views: Mapping[int, BrokerView]) -> PartitionView | None:
    """Returns the partition in the metadata with its newest leader epoch."""
    seen = (view.partitions[tp] for view in views.values() if tp in view.partitions)
    return max(seen, key=lambda each: each.leader_epoch, default=None)


def leader_and_isr(
    tp: TopicPartition, record: ClusterRecord | None, views: Mapping[int, BrokerView]
) -> tuple[int, tuple[int, ...]]:
    """Returns both by the record, otherwise by the newest metadata; (-1, ()) if neither has the partition."""
    known = record.states.get(tp) if record is not None else None
    found = known or newest_partition(tp, views)
    return (-1, ()) if found is None else (found.leader, found.isr)


def _of_zookeeper(view: ZooKeeperView) -> ClusterRecord:
    node = view.controller
    return ClusterRecord(
        mode=Mode.ZOOKEEPER,
        source=f"zookeeper {view.server}",
        controller=RecordedController(node.broker, node.epoch, node.elected_ms if node.broker is not None else 0),
        registrations=view.registrations,
        assignments=view.assignments,
        states=view.states,
        reassigning=view.reassigning,
        deleting=view.deleting,
        topic_settings=view.topic_configs,
    )


def _of_quorum(
    quorum: QuorumView, views: Mapping[int, BrokerView], moves: Mapping[TopicPartition, Assignment]
) -> ClusterRecord | None:
    """Returns the record by the broker with the newest metadata; None if no broker answered."""
    view = newest_view(quorum, views)
    if view is None:
        return None
    live = listed_alive(views, quorum) or frozenset()
    return ClusterRecord(
        mode=Mode.KRAFT,
        source=f"broker {view.broker}",
        controller=RecordedController(quorum.leader, quorum.epoch) if quorum.read else None,
        registrations={
            b: Registration(b, view.alive.get(b), view.racks.get(b) or None, czxid=-1, registered_ms=0)
            for b in sorted(live)
        },
        assignments=_Each(view.partitions, partial(_assignment, moves)),
        states=_Each(view.partitions, _state),
        reassigning={tp: move.replicas for tp, move in moves.items()},
        deleting=frozenset(),
        topic_settings=quorum.topic_settings,
    )


def newest_view(quorum: QuorumView, views: Mapping[int, BrokerView]) -> BrokerView | None:
    """Returns the view of the broker that has applied most of the metadata log; None if no broker answered."""
    fresh = fresh_views(views, quorum)
    newest = max(sorted(fresh), key=quorum.applied, default=None)
    return None if newest is None else fresh[newest]


class _Each(Mapping[TopicPartition, T]):
    """The partitions of a view in another form, converted on access: most are never used."""

    __slots__ = ("_make", "_partitions")

    def __init__(
        self, partitions: Mapping[TopicPartition, PartitionView], make: Callable[[TopicPartition, PartitionView], T]
    ) -> None:
        self._partitions = partitions
        self._make = make

    def __getitem__(self, tp: TopicPartition) -> T:
        return self._make(tp, self._partitions[tp])

    def __contains__(self, tp: object) -> bool:
        return tp in self._partitions

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)


def _state(_: TopicPartition, view: PartitionView) -> PartitionState:
    return PartitionState(view.leader, view.leader_epoch, view.isr, -1, -1, -1, 0)


def _assignment(moves: Mapping[TopicPartition, Assignment], tp: TopicPartition, view: PartitionView) -> Assignment:
    return moves.get(tp) or Assignment(view.replicas)
