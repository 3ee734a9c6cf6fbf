"""Makes the memory that the next snapshot of a cluster needs from this snapshot and the earlier ones."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kfix.core.derive.background import live_brokers
from kfix.core.derive.coordinator import partition_of_group
from kfix.core.derive.loss import lost_from
from kfix.core.derive.moves import moves_seen
from kfix.core.derive.record import newest_view, record_of
from kfix.core.derive.vantage import distinct, offsets_partitions
from kfix.core.snapshot.group_reading import GroupReading, by_group
from kfix.core.snapshot.memory import AtRisk, Memory
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import PartitionState, Snapshot, TopicPartition

# Keeps partitions that lack replicas: if another replica leads later, records may be on one disk only.

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
    kept = {tp: row for tp, was in snapshot.memory.at_risk.items() if (row := _kept_at_risk(was, tp, snapshot))}
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


def _kept_at_risk(was: AtRisk, tp: TopicPartition, snapshot: Snapshot) -> AtRisk | None:
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
    quorum = snapshot.quorum
    # A partition that is led may have eligible replicas, too; they lack what its leader has taken since.
    eligible = quorum.eligible.get(tp, ()) if quorum is not None and state.leader < 0 else ()
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


#: Seconds after which a broker that was not seen is no longer remembered.
FORGET = 7 * 86400.0
#: Most group names that are kept, enough to show who is blocked; the rest is reported as "and others".
MOST_GROUPS = 5000
#: Seconds between two readings of a group that show what stands although its members commit once a minute, and seconds
#: after which a reading is too old for that.
APART, FORGET_POSITIONS = 60.0, 3600.0
#: Seconds for which leader epochs of a quorum are kept, and most of them.
_KEEP_EPOCHS, _MOST_EPOCHS = 3600.0, 50


def remember(snapshot: Snapshot) -> Memory:
    """Returns what the next snapshot needs of this one and of those before it."""
    before = snapshot.memory
    groups = dict.fromkeys((*(g.name for g in snapshot.groups), *_still_possible(snapshot)))
    brokers = {**before.brokers, **{b: str(e) for b, e in snapshot.addresses.items()}}
    last = {b: before.seen.get(b, snapshot.taken_at) for b in brokers} | dict.fromkeys(
        snapshot.addresses, snapshot.taken_at
    )
    live = live_brokers(snapshot)
    controllers = snapshot.quorum.controllers if snapshot.quorum is not None else ()
    answered = {*snapshot.views, *(each.node for each in controllers if each.answered and each.node >= 0)}
    alive = {**before.alive, **dict.fromkeys(answered, snapshot.taken_at)}
    gone = () if live is None else brokers.keys() - live - snapshot.views.keys()
    # A controller that has answered before. If it is a broker, too, it is gone if brokers report that.
    mute = {each.node for each in controllers if not each.answered and each.node in alive} - brokers.keys()
    dead = {**before.dead, **dict.fromkeys((*gone, *mute), snapshot.taken_at)}
    well = {**before.well, **dict.fromkeys(_in_every_isr(snapshot), snapshot.taken_at)}
    epochs = dict(before.epochs)
    if snapshot.quorum is not None and snapshot.quorum.read:
        epochs[snapshot.quorum.epoch] = snapshot.taken_at
    some, moves = tuple(groups)[:MOST_GROUPS], moves_seen(snapshot)
    risks, positions = at_risk(snapshot), tuple(_positions(snapshot))
    known = Memory(some, brokers, last, alive, dead, well, epochs, _applied(snapshot), moves, risks, positions)
    return _kept(known, snapshot.taken_at)


def _positions(snapshot: Snapshot) -> Iterator[GroupReading]:
    """Yields the positions of each group that the next snapshot is compared with: old enough to show what stands."""
    known = {each.group: each for each in snapshot.memory.positions}
    for group, readings in by_group(snapshot.group_readings).items():
        was, now = known.pop(group, None), readings[0]
        if was is not None and now.taken_at - was.taken_at < APART:
            yield was
        elif now.partitions:
            yield GroupReading(group, now.taken_at, now.coordinator, None, None, partitions=now.partitions)
    yield from (was for was in known.values() if 0 <= snapshot.taken_at - was.taken_at < FORGET_POSITIONS)


def _applied(snapshot: Snapshot) -> dict[int, float]:
    """Returns the newest applied metadata offset and when it was first found; the earlier values if none was read."""
    known = snapshot.memory.applied
    offset = -1 if snapshot.quorum is None else snapshot.quorum.newest_applied
    if offset < 0:
        return dict(known)
    return {offset: min(snapshot.taken_at, known.get(offset, snapshot.taken_at))}


def _in_every_isr(snapshot: Snapshot) -> frozenset[int]:
    """Returns the live brokers of a KRaft cluster whose replicas all are in sync."""
    view = None if snapshot.quorum is None else newest_view(snapshot.quorum, snapshot.views)
    if view is None:
        return frozenset()
    short = {b for each in view.partitions.values() if len(each.isr) < len(each.replicas) for b in each.replicas}
    if short:
        short = {b for each in view.partitions.values() for b in each.replicas if b not in each.isr}
    return frozenset(live_brokers(snapshot) or ()) - short


def _still_possible(snapshot: Snapshot) -> tuple[str, ...]:
    """Returns the remembered groups, without those that a working coordinator no longer lists: they were deleted."""
    partitions = max(map(offsets_partitions, distinct(snapshot.views)[0]), default=0)
    if not snapshot.groups_complete or not partitions:
        return snapshot.memory.groups
    working = {p.partition for p in snapshot.probes if p.answers}
    return tuple(g for g in snapshot.memory.groups if partition_of_group(g, partitions) not in working)


def _kept(memory: Memory, now: float) -> Memory:
    """Returns the memory without what is too old."""
    brokers = {b: a for b, a in memory.brokers.items() if now - memory.seen.get(b, now) <= FORGET}
    late = sorted((t, epoch) for epoch, t in memory.epochs.items() if 0 <= now - t <= _KEEP_EPOCHS)[-_MOST_EPOCHS:]
    return replace(
        memory,
        brokers=brokers,
        seen={b: t for b, t in memory.seen.items() if b in brokers},
        well={b: t for b, t in memory.well.items() if b in brokers},
        # Controllers have no address here, so their times are kept for as long by themselves.
        alive={n: t for n, t in memory.alive.items() if now - t <= FORGET},
        dead={n: t for n, t in memory.dead.items() if now - t <= FORGET},
        epochs={epoch: t for t, epoch in late},
    )
