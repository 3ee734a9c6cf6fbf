"""Signs of a cut network in one look at a cluster: two leaders, replicas dropped while they live, stale views.

The observer reaches what the brokers do not reach of each other, so a cut shows as disagreement between answers.
`odd` are the partitions that may show a sign; all others are left alone, so that a healthy cluster costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kfix.derive.lag import recent
from kfix.model.cluster.snapshot import NO_LEADER, Snapshot, TopicPartition, ZooKeeperView

#: Seconds: what ZooKeeper recorded later than this before the look, brokers may not have been asked after.
_SETTLED = 1.0


@dataclass(frozen=True, slots=True)
class ReturnLoss:
    """Records of one partition that only the older of two leaders has: cut off when it returns.

    `known` is False where the newer leader did not tell where the older epoch ended: then `records` is a lower bound.
    """

    tp: TopicPartition
    old: int
    new: int
    records: int
    known: bool


def two_leaders(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """{partition: (the older leader, the newer)} where two brokers call themselves its leader."""
    pairs = {}
    for tp in odd:
        seen = {b: p for b, view in snapshot.views.items() if (p := view.partitions.get(tp)) is not None}
        leaders = {b: p.leader_epoch for b, p in seen.items() if p.leader == b}
        if len(leaders) > 1:
            ordered = sorted(leaders, key=lambda b: leaders[b])
            pairs[tp] = (ordered[0], ordered[-1])
    return pairs


def losses_of(snapshot: Snapshot, pairs: Mapping[TopicPartition, tuple[int, int]]) -> tuple[ReturnLoss, ...]:
    """The older leader's log end less the end of its epoch at the newer one (KIP-101; kafka-facts J)."""
    found = []
    for tp, (old, new) in sorted(pairs.items()):
        ends = snapshot.told_ends(tp)
        told = snapshot.epoch_ends.get(tp)
        if old not in ends:
            continue
        if told is not None and not told.error and told.leader == new and told.end >= 0:
            found.append(ReturnLoss(tp, old, new, max(0, ends[old] - told.end), known=True))
        elif new in ends:
            found.append(ReturnLoss(tp, old, new, max(0, ends[old] - ends[new]), known=False))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Gap:
    """A living replica that is out of the isr of a living leader, and was dropped while it was registered."""

    tp: TopicPartition
    leader: int
    missing: int
    since_ms: int
    moved: bool | None  # whether its log end grew between two samples; None: one sample only


def gaps_of(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> tuple[Gap, ...]:
    """By ZooKeeper's record, which knows of a shrink before the brokers do. A throttled topic tells of no network."""
    zookeeper = snapshot.zookeeper
    if zookeeper is None:
        return ()
    there = zookeeper.registrations.keys() & snapshot.views.keys()
    found = []
    for tp in odd:
        assignment, state = zookeeper.assignments.get(tp), zookeeper.states.get(tp)
        if state is None or assignment is None or state.leader not in there or _throttled(zookeeper, tp.topic):
            continue
        for broker in assignment.replicas:
            if broker in (state.leader, *state.isr, *assignment.adding) or broker not in there:
                continue
            # Dropped by its own restart, it left the isr before it registered again.
            if state.mtime_ms > zookeeper.registrations[broker].registered_ms:
                moved = _moved(snapshot, tp, broker, state.mtime_ms)
                found.append(Gap(tp, state.leader, broker, state.mtime_ms, moved))
    return tuple(found)


def _throttled(zookeeper: ZooKeeperView, topic: str) -> bool:
    config = zookeeper.topic_configs.get(topic, {})
    return any(config.get(f"{side}.replication.throttled.replicas") for side in ("leader", "follower"))


def _moved(snapshot: Snapshot, tp: TopicPartition, broker: int, since_ms: int) -> bool | None:
    """Since it was dropped: what it did before says nothing."""
    samples = [s for s in recent(snapshot) if s.taken_at * 1000 > since_ms]
    ends = [sample.ends[tp][broker] for sample in samples if broker in sample.ends.get(tp, {})]
    ends += [end for b, end in snapshot.told_ends(tp).items() if b == broker]
    return None if len(ends) < 2 else max(ends) > min(ends)


def stale_of(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> dict[int, tuple[TopicPartition, ...]]:
    """{registered broker: partitions that it sees otherwise than ZooKeeper records}.

    What was written before it registered it may just not have been told yet, and what was written while the look was
    taken it may have been asked too early for.
    """
    zookeeper = snapshot.zookeeper
    if zookeeper is None:
        return {}
    found: dict[int, list[TopicPartition]] = {}
    there = sorted(zookeeper.registrations.keys() & snapshot.views.keys())
    latest = (snapshot.taken_at - _SETTLED) * 1000
    for tp in odd:
        state = zookeeper.states.get(tp)
        if state is None or tp.topic in zookeeper.deleting or state.leader == NO_LEADER or state.mtime_ms > latest:
            continue
        for broker in there:
            if state.mtime_ms < zookeeper.registrations[broker].registered_ms:
                continue
            p = snapshot.views[broker].partitions.get(tp)
            if p is None or p.leader_epoch < state.leader_epoch or set(p.isr) != set(state.isr):
                found.setdefault(broker, []).append(tp)
    return {broker: tuple(tps) for broker, tps in found.items()}


def stuck_of(snapshot: Snapshot, brokers: Iterable[int]) -> tuple[TopicPartition, ...]:
    """Led by one of these, with records that no consumer sees, though the record calls every replica in sync."""
    zookeeper = snapshot.zookeeper
    wanted = frozenset(brokers)
    found = []
    for tp, seen in snapshot.visible.items():
        state = zookeeper.states.get(tp) if zookeeper is not None else None
        if state is None or state.leader not in wanted or state.leader not in seen:
            continue
        if snapshot.told_ends(tp).get(state.leader, -1) > seen[state.leader]:
            found.append(tp)
    return tuple(sorted(found))
