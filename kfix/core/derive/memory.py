"""Makes the memory that the next snapshot of a cluster needs from this snapshot and the earlier ones."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.at_risk import at_risk
from kfix.core.derive.background import live_brokers
from kfix.core.derive.coordinator import partition_of_group
from kfix.core.derive.moves import moves_seen
from kfix.core.derive.record import newest_view
from kfix.core.derive.views import distinct, offsets_partitions
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Snapshot

#: Seconds after which a broker that was not seen is no longer remembered.
FORGET = 7 * 86400.0
#: Most group names that are kept, enough to show who is blocked; the rest is reported as "and others".
MOST_GROUPS = 5000
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
    known = Memory(some, brokers, last, alive, dead, well, epochs, _applied(snapshot), moves, at_risk(snapshot))
    return _kept(known, snapshot.taken_at)


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
