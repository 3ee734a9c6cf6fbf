"""Signs of a cut network in one look at a cluster: two leaders, replicas dropped while they live, stale views.

The observer reaches what the brokers do not reach of each other, so a cut shows as disagreement between answers.
`odd` are the partitions that may show a sign; all others are left alone, so that a healthy cluster costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kfix.model.lag import recent
from kfix.model.snapshot import NO_LEADER, Snapshot, TopicPartition


@dataclass(frozen=True, slots=True)
class Loss:
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


def losses_of(snapshot: Snapshot, pairs: Mapping[TopicPartition, tuple[int, int]]) -> tuple[Loss, ...]:
    """The older leader's log end less the end of its epoch at the newer one (KIP-101; kafka-facts J)."""
    found = []
    for tp, (old, new) in sorted(pairs.items()):
        ends = {b: e.end for b, e in snapshot.log_ends.get(tp, {}).items() if not e.error}
        told = snapshot.epoch_ends.get(tp)
        if old not in ends:
            continue
        if told is not None and not told.error and told.leader == new and told.end >= 0:
            found.append(Loss(tp, old, new, max(0, ends[old] - told.end), known=True))
        elif new in ends:
            found.append(Loss(tp, old, new, max(0, ends[old] - ends[new]), known=False))
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
    """By ZooKeeper's record, which knows of a shrink before the brokers do."""
    zookeeper = snapshot.zookeeper
    if zookeeper is None:
        return ()
    there = zookeeper.registrations.keys() & snapshot.views.keys()
    found = []
    for tp in odd:
        assignment, state = zookeeper.assignments.get(tp), zookeeper.states.get(tp)
        if state is None or assignment is None or state.leader not in there:
            continue
        for broker in assignment.replicas:
            if broker in state.isr or broker in assignment.adding or broker not in there:
                continue
            # Dropped by its own restart, it left the isr before it registered again.
            if state.mtime_ms > zookeeper.registrations[broker].registered_ms:
                found.append(Gap(tp, state.leader, broker, state.mtime_ms, _moved(snapshot, tp, broker)))
    return tuple(found)


def _moved(snapshot: Snapshot, tp: TopicPartition, broker: int) -> bool | None:
    ends = [sample.ends[tp][broker] for sample in recent(snapshot) if broker in sample.ends.get(tp, {})]
    now = snapshot.log_ends.get(tp, {}).get(broker)
    if now is not None and not now.error:
        ends.append(now.end)
    return None if len(ends) < 2 else max(ends) > min(ends)


def stale_of(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> dict[int, tuple[TopicPartition, ...]]:
    """{registered broker: partitions that it sees otherwise than ZooKeeper records}."""
    zookeeper = snapshot.zookeeper
    if zookeeper is None:
        return {}
    found: dict[int, list[TopicPartition]] = {}
    there = sorted(zookeeper.registrations.keys() & snapshot.views.keys())
    for tp in odd:
        state = zookeeper.states.get(tp)
        if state is None or tp.topic in zookeeper.deleting or state.leader == NO_LEADER:
            continue
        for broker in there:
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
        end = snapshot.log_ends.get(tp, {}).get(state.leader)
        if end is not None and not end.error and end.end > seen[state.leader]:
            found.append(tp)
    return tuple(sorted(found))
