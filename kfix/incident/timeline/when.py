"""When an event between two snapshots happened: exactly if the source recorded the write time, else a range."""

from pathlib import PurePath

from kfix.core.derive.record import record_of
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import PartitionState, Snapshot, TopicPartition

#: If ZooKeeper's or a broker's clock differs from kfix's by more seconds than this, its times are not used.
SKEW = 5.0


def between(before: Snapshot, after: Snapshot, stamp_ms: int = 0) -> tuple[float, float | None]:
    """Returns (at, not_before) in seconds; `stamp_ms` (milliseconds) counts if it is between the snapshots."""
    stamp = stamp_ms / 1000
    if stamp_ms > 0 and before.taken_at - SKEW <= stamp <= after.taken_at + SKEW:
        return stamp, None
    return after.taken_at, before.taken_at


def stamped(ms: int, at: float) -> float | None:
    """Returns a recorded time in seconds, or None if there is none or its clock is ahead by more than `SKEW`."""
    return ms / 1000 if 0 < ms / 1000 <= at + SKEW else None


def where(after: Snapshot) -> str:
    """Returns the name of the snapshot as a source: its file name."""
    return f"snapshot {name_of(after)}"


def name_of(snapshot: Snapshot) -> str:
    return PurePath(snapshot.origin).name or "without a name"


def states(snapshot: Snapshot) -> dict[TopicPartition, PartitionState]:
    """Returns the record of every partition; if it was not read, the broker metadata with the highest epoch.

    A record from broker metadata has version -1 and no times.
    """
    if (record := record_of(snapshot)) is not None:
        return dict(record.states)
    found: dict[TopicPartition, PartitionState] = {}
    for view in snapshot.views.values():
        for tp, seen in view.partitions.items():
            if tp not in found or seen.leader_epoch > found[tp].leader_epoch:
                found[tp] = PartitionState(seen.leader, seen.leader_epoch, seen.isr, -1, -1, -1, 0)
    return found


def comparable(before: Snapshot, after: Snapshot) -> bool:
    """Whether both snapshots have the same kind of source; ZooKeeper's record is not compared with broker metadata."""
    old, new = record_of(before), record_of(after)
    return (old.mode if old is not None else None) == (new.mode if new is not None else None)


def records_of(before: Snapshot, after: Snapshot) -> tuple[ClusterRecord, ClusterRecord] | None:
    """Returns the records of both snapshots, if they have the same authority; None if one of them was not read."""
    old, new = record_of(before), record_of(after)
    return None if old is None or new is None or old.mode is not new.mode else (old, new)
