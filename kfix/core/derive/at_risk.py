"""Keeps partitions that lack replicas: if another replica leads later, records may be on one disk only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kfix.core.derive.loss import lost_from
from kfix.core.derive.record import newest_view, record_of
from kfix.core.snapshot.at_risk import AtRisk
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import PartitionState, Snapshot, TopicPartition

#: Most partitions that are kept, those with the fewest holders first.
MOST = 5000
#: Seconds for which a loss is kept that was first seen after its holders returned: they have truncated it.
_KEPT = 86_400.0


def at_risk(snapshot: Snapshot) -> dict[TopicPartition, AtRisk]:
    """Returns the partitions that lack replicas, and those of earlier snapshots that are now led by a replica which
    lacked records, as long as a broker that had them all is down.
    """
    record = record_of(snapshot)
    if record is None:
        return dict(snapshot.memory.at_risk)
    kept = {tp: row for tp, was in snapshot.memory.at_risk.items() if (row := _kept(was, tp, snapshot))}
    short = ((tp, state) for tp, state in _short(snapshot, record) if tp not in kept)
    fresh = {tp: row for tp, state in short if (row := _seen(tp, state, snapshot)).holders}
    rows = sorted((fresh | kept).items(), key=lambda item: (item[0] not in kept, len(item[1].holders), item[0]))
    return dict(rows[:MOST])


def compared_with(before: Mapping[TopicPartition, AtRisk], snapshot: Snapshot) -> Snapshot:
    """Returns the snapshot with the losses since another earlier snapshot, and the partitions only that one has."""
    known = snapshot.memory.at_risk
    added = {tp: was for tp, was in before.items() if tp not in known or lost_from(was, tp, snapshot) is not None}
    memory = replace(snapshot.memory, at_risk={**known, **added})
    return replace(snapshot, memory=memory) if added else snapshot


def _kept(was: AtRisk, tp: TopicPartition, snapshot: Snapshot) -> AtRisk | None:
    """Returns the entry to keep of a partition that has lost records, or None."""
    lost = lost_from(was, tp, snapshot)
    if lost is None:
        return None
    if lost.holders:
        return was._replace(until=snapshot.taken_at)
    if not was.until:
        return was._replace(until=snapshot.taken_at + _KEPT)
    return was if snapshot.taken_at < was.until else None


def _short(snapshot: Snapshot, record: ClusterRecord) -> Iterator[tuple[TopicPartition, PartitionState]]:
    """Yields the partitions with a replica outside the ISR; only these become states, of which there would be many."""
    if snapshot.zookeeper is not None:
        for tp, state in snapshot.zookeeper.states.items():
            assignment = snapshot.zookeeper.assignments.get(tp)
            if assignment is not None and len(state.isr) < len(assignment.replicas):
                yield tp, state
        return
    view = None if snapshot.quorum is None else newest_view(snapshot.quorum, snapshot.views)
    for tp, seen in () if view is None else view.partitions.items():
        if len(seen.isr) < len(seen.replicas):
            yield tp, record.states[tp]


def _seen(tp: TopicPartition, state: PartitionState, snapshot: Snapshot) -> AtRisk:
    was = snapshot.memory.at_risk.get(tp)
    eligible = () if snapshot.quorum is None else snapshot.quorum.eligible.get(tp, ())
    holders = tuple(dict.fromkeys((*state.isr, *(b for each in eligible for b in each))))
    row = AtRisk(snapshot.taken_at, state.leader, state.leader_epoch, state.version, holders)
    if state.leader >= 0:
        end, visible = (
            snapshot.reported_ends(tp).get(state.leader, -1),
            snapshot.visible.get(tp, {}).get(state.leader, -1),
        )
        row = row._replace(former=state.leader, former_epoch=state.leader_epoch, end=end, visible=visible)
        if was is None or (was.former, was.former_epoch) != (row.former, row.former_epoch) or end >= 0:
            return row
    if was is None or was.former not in holders:
        return row
    return row._replace(former=was.former, former_epoch=was.former_epoch, end=was.end, visible=was.visible)
