"""How replicas out of sync move over time: stuck, slow, or catching up is told by two samples, never by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from kfix.derive.partition_facts import PartitionFacts
from kfix.model.cluster.snapshot import Sample, Snapshot, TopicPartition

#: An older sample tells what was lost since, not how fast a replica moves now. Seconds.
RECENT = 300.0
#: Seconds after which a replica that has everything should long be in sync again.
PATIENCE = 20.0


class Pace(StrEnum):
    STUCK = "stuck"  # its log end does not move, and the leader's is ahead
    SLOW = "slow"  # it moves, and does not come nearer
    CATCHING_UP = "catching up"  # it comes nearer


@dataclass(frozen=True, slots=True)
class Lag:
    """`before` and `now` are records behind the leader, `rate` records a second of the replica, over `seconds`."""

    tp: TopicPartition
    leader: int
    broker: int
    before: int
    now: int
    rate: float
    leader_rate: float
    seconds: float

    @property
    def pace(self) -> Pace:
        if self.rate <= 0:
            return Pace.STUCK
        return Pace.CATCHING_UP if self.now < self.before else Pace.SLOW

    @property
    def seconds_left(self) -> float | None:
        """Until it has caught up, at this pace; None where it never will."""
        gain = self.rate - self.leader_rate
        return self.now / gain if gain > 0 else None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A replica with all of its leader's records, out of the isr since both were there and it was written (seconds)."""

    tp: TopicPartition
    leader: int
    broker: int
    since: float


def left_out(snapshot: Snapshot, facts: Iterable[PartitionFacts]) -> tuple[LeftOut, ...]:
    """A leader takes a replica back within a second of its catching up; who waits for `PATIENCE` was forgotten."""
    found = []
    for tp, leader, broker in _missing(snapshot, facts):
        ends = snapshot.told_ends(tp)
        assert snapshot.zookeeper is not None
        registered = snapshot.zookeeper.registrations
        newest = max(
            snapshot.zookeeper.states[tp].mtime_ms,
            *(registered[b].registered_ms for b in (leader, broker) if b in registered),
        )
        since = snapshot.taken_at - newest / 1000
        if {leader, broker} <= ends.keys() and ends[broker] >= ends[leader] > 0 and since > PATIENCE:
            found.append(LeftOut(tp, leader, broker, since))
    return tuple(found)


def _missing(snapshot: Snapshot, facts: Iterable[PartitionFacts]) -> list[tuple[TopicPartition, int, int]]:
    """(partition, leader, living replica out of sync) by ZooKeeper's record."""
    zookeeper = snapshot.zookeeper
    if zookeeper is None:
        return []
    return [
        (f.tp, f.leader, broker)
        for f in facts
        if f.n_isr < f.n_replicas and not f.deleting and f.tp in zookeeper.assignments and f.tp in zookeeper.states
        for broker in zookeeper.assignments[f.tp].replicas
        if broker not in zookeeper.states[f.tp].isr
        and broker in zookeeper.registrations
        and broker not in zookeeper.assignments[f.tp].adding
    ]


def recent(snapshot: Snapshot) -> tuple[Sample, ...]:
    return tuple(s for s in snapshot.samples if 0 < snapshot.taken_at - s.taken_at <= RECENT)


def lags_of(snapshot: Snapshot, facts: Iterable[PartitionFacts]) -> tuple[Lag, ...]:
    """Of living replicas that are out of sync by ZooKeeper's record, where both moments know them and their leader."""
    samples = recent(snapshot)
    if not samples:
        return ()
    first = max(samples, key=lambda s: s.taken_at)
    seconds = snapshot.taken_at - first.taken_at
    found = []
    for tp, leader, broker in _missing(snapshot, facts):
        then = first.ends.get(tp, {})
        now = snapshot.told_ends(tp)
        if not {leader, broker} <= then.keys() & now.keys() or now[leader] <= now[broker]:
            continue
        found.append(
            Lag(
                tp,
                leader,
                broker,
                before=then[leader] - then[broker],
                now=now[leader] - now[broker],
                rate=(now[broker] - then[broker]) / seconds,
                leader_rate=(now[leader] - then[leader]) / seconds,
                seconds=seconds,
            )
        )
    return tuple(found)
