"""Signs of a cut network in one snapshot: two leaders, replicas removed from ISRs while alive, stale views.

kfix reaches brokers that do not reach each other, so a cut shows as disagreement between answers. `odd` are the
partitions that may show a sign; all others are skipped, so a healthy cluster costs nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kfix.core.derive.moves import recent
from kfix.core.derive.partition_facts import listed, offline_alive
from kfix.core.derive.record import record_of
from kfix.core.snapshot.snapshot import NO_LEADER, Snapshot, TopicPartition

#: Seconds: a record written less than this before the snapshot may be newer than the brokers' answers.
_SETTLED = 1.0


@dataclass(frozen=True, slots=True)
class ReturnLoss:
    """Records of one partition that only the older of two leaders has: truncated when it returns.

    `known` is False if the newer leader did not report where the older epoch ended: then `records` is a lower bound.
    """

    tp: TopicPartition
    old: int
    new: int
    records: int
    known: bool


def two_leaders(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """Returns {partition: (the older leader, the newer)} where two brokers report themselves as its leader."""
    pairs = {}
    for tp in odd:
        seen = {b: p for b, view in snapshot.views.items() if (p := view.partitions.get(tp)) is not None}
        leaders = {b: p.leader_epoch for b, p in seen.items() if p.leader == b}
        if len(leaders) > 1:
            ordered = sorted(leaders, key=lambda b: leaders[b])
            pairs[tp] = (ordered[0], ordered[-1])
    return pairs


def losses_of(snapshot: Snapshot, pairs: Mapping[TopicPartition, tuple[int, int]]) -> tuple[ReturnLoss, ...]:
    """Returns the older leader's log end minus the end of its epoch at the newer one (KIP-101)."""
    found = []
    for tp, (old, new) in sorted(pairs.items()):
        ends = snapshot.reported_ends(tp)
        epoch_end = snapshot.epoch_ends.get(tp)
        if old not in ends:
            continue
        if epoch_end is not None and not epoch_end.error and epoch_end.leader == new and epoch_end.end >= 0:
            found.append(ReturnLoss(tp, old, new, max(0, ends[old] - epoch_end.end), known=True))
        elif new in ends:
            found.append(ReturnLoss(tp, old, new, max(0, ends[old] - ends[new]), known=False))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Gap:
    """A live replica that is out of the ISR of a live leader, and was removed while it was registered."""

    tp: TopicPartition
    leader: int
    missing: int
    since_ms: int
    moved: bool | None  # Whether its log end grew between two samples; None: one sample only.


class _Offline:
    """The replicas in failed log directories of live brokers, whose absence from the ISR is no sign of a cut."""

    def __init__(self, snapshot: Snapshot, there: frozenset[int]) -> None:
        self._views = tuple(snapshot.views.values())
        self._there, self._listed = there, listed(self._views)

    def at(self, tp: TopicPartition) -> frozenset[int]:
        seen = [view.partitions[tp] for view in self._views if tp in view.partitions]
        return offline_alive(seen, self._there, self._listed)


def gaps_of(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> tuple[Gap, ...]:
    """Returns gaps by the record, which is newer than the views. A throttled topic is no sign of a cut.

    KRaft records no times: a replica that its own restart dropped may be among them there.
    """
    record = record_of(snapshot)
    if record is None:
        return ()
    there = frozenset(record.registrations.keys() & snapshot.views.keys())
    offline = _Offline(snapshot, there)
    found = []
    for tp in odd:
        assignment, state = record.assignments.get(tp), record.states.get(tp)
        if state is None or assignment is None or state.leader not in there:
            continue
        if record.topic_settings is None or _throttles(record.topic_settings.get(tp.topic, {})):
            continue
        aside = (state.leader, *state.isr, *assignment.adding)
        for broker in assignment.replicas:
            if broker in aside or broker not in there or broker in offline.at(tp):
                continue
            # Removed because of its own restart, it left the ISR before it registered again.
            if not record.dated or state.mtime_ms > record.registrations[broker].registered_ms:
                moved = _moved(snapshot, tp, broker, state.mtime_ms)
                found.append(Gap(tp, state.leader, broker, state.mtime_ms, moved))
    return tuple(found)


def _throttles(config: Mapping[str, str]) -> bool:
    return any(config.get(f"{side}.replication.throttled.replicas") for side in ("leader", "follower"))


def _moved(snapshot: Snapshot, tp: TopicPartition, broker: int, since_ms: int) -> bool | None:
    """Returns whether its log end moved after it was removed; None if it was sampled only once."""
    samples = [s for s in recent(snapshot) if s.taken_at * 1000 > since_ms]
    ends = [sample.ends[tp][broker] for sample in samples if broker in sample.ends.get(tp, {})]
    ends += [end for b, end in snapshot.reported_ends(tp).items() if b == broker]
    return None if len(ends) < 2 else max(ends) > min(ends)


def stale_of(snapshot: Snapshot, odd: Iterable[TopicPartition]) -> dict[int, tuple[TopicPartition, ...]]:
    """Returns {registered broker: partitions for which its view differs from ZooKeeper's record}.

    A record from before the broker registered may not have reached it yet, and the broker may have been read before a
    record that was written during the snapshot. The controller has read every record before it writes one: a recent
    registration does not excuse its view.
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
            if broker != zookeeper.controller.broker and state.mtime_ms < zookeeper.registrations[broker].registered_ms:
                continue
            p = snapshot.views[broker].partitions.get(tp)
            if p is None or p.leader_epoch < state.leader_epoch or set(p.isr) != set(state.isr):
                found.setdefault(broker, []).append(tp)
    return {broker: tuple(tps) for broker, tps in found.items()}


def stuck_of(snapshot: Snapshot, brokers: Iterable[int]) -> tuple[TopicPartition, ...]:
    """Returns partitions led by one of these with records above the high watermark, although no ISR change shows it."""
    zookeeper = snapshot.zookeeper
    leaders = frozenset(brokers)
    found = []
    for tp, seen in snapshot.visible.items():
        state = zookeeper.states.get(tp) if zookeeper is not None else None
        if state is None or state.leader not in leaders or state.leader not in seen:
            continue
        if snapshot.reported_ends(tp).get(state.leader, -1) > seen[state.leader]:
            found.append(tp)
    return tuple(sorted(found))
