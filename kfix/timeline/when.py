"""When something between two looks happened: exactly, where a source kept the time of its writing."""

from __future__ import annotations

from pathlib import PurePath

from kfix.model.cluster.snapshot import PartitionState, Snapshot, TopicPartition

#: Seconds by which ZooKeeper's or a broker's clock may differ from kfix's before its times are not used.
SKEW = 5.0


def between(before: Snapshot, after: Snapshot, stamp_ms: int = 0) -> tuple[float, float | None]:
    """(at, not_before) of an event; `stamp_ms` is used where it lies between the looks."""
    stamp = stamp_ms / 1000
    if stamp_ms > 0 and before.taken_at - SKEW <= stamp <= after.taken_at + SKEW:
        return stamp, None
    return after.taken_at, before.taken_at


def stamped(ms: int, at: float) -> float | None:
    """A time that a source kept; None where it has none, or where its clock is ahead of the look by too much."""
    return ms / 1000 if 0 < ms / 1000 <= at + SKEW else None


def where(after: Snapshot) -> str:
    """The look as a source: its file's name."""
    return f"look {name_of(after)}"


def name_of(snapshot: Snapshot) -> str:
    return PurePath(snapshot.origin).name or "without a name"


def states(snapshot: Snapshot) -> dict[TopicPartition, PartitionState]:
    """ZooKeeper's record of every partition; where it was not read, what the view with the highest epoch says.

    A view's record has version -1 and no times.
    """
    if snapshot.zookeeper is not None:
        return dict(snapshot.zookeeper.states)
    found: dict[TopicPartition, PartitionState] = {}
    for view in snapshot.views.values():
        for tp, seen in view.partitions.items():
            if tp not in found or seen.leader_epoch > found[tp].leader_epoch:
                found[tp] = PartitionState(seen.leader, seen.leader_epoch, seen.isr, -1, -1, -1, 0)
    return found


def comparable(before: Snapshot, after: Snapshot) -> bool:
    """Both told by the same kind of source: ZooKeeper's record and a broker's belief are not the same thing."""
    return (before.zookeeper is None) == (after.zookeeper is None)
