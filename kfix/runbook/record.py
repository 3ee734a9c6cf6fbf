"""What a snapshot records of the whole cluster, as planning needs it: by ZooKeeper, or by the newest KRaft metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.derive.quorum import fresh_views, listed_alive
from kfix.model.cluster.snapshot import Assignment, Mode, Snapshot, TopicPartition


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """`racks` are {live broker: its rack}, `states` are {partition: (leader, ISR)}.

    `topic_configs` are {topic: its own settings}, None where the record does not hold them, as on KRaft.
    """

    racks: Mapping[int, str | None]
    assignments: Mapping[TopicPartition, Assignment]
    states: Mapping[TopicPartition, tuple[int, tuple[int, ...]]]
    topic_configs: Mapping[str, Mapping[str, str]] | None


def record_of(snapshot: Snapshot) -> ClusterRecord | None:
    """Returns None where no authority was read: no ZooKeeper, and on KRaft no active controller."""
    if snapshot.zookeeper is not None:
        found = snapshot.zookeeper
        return ClusterRecord(
            {b: r.rack for b, r in found.registrations.items()},
            found.assignments,
            {tp: (s.leader, s.isr) for tp, s in found.states.items()},
            found.topic_configs,
        )
    quorum = snapshot.quorum
    if snapshot.cluster.mode is not Mode.KRAFT or quorum is None or not quorum.read:
        return None
    fresh = fresh_views(snapshot.views, quorum)
    live = listed_alive(snapshot.views, quorum)
    if not fresh or live is None or snapshot.reassignments is None:
        return None
    newest = fresh[max(fresh, key=lambda b: quorum.offsets.get(b, -1))]
    moves = snapshot.reassignments
    return ClusterRecord(
        {b: newest.racks.get(b) for b in live},
        {tp: moves.get(tp, Assignment(view.replicas)) for tp, view in newest.partitions.items()},
        {tp: (view.leader, view.isr) for tp, view in newest.partitions.items()},
        None,
    )
