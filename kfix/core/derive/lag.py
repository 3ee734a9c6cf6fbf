"""The movement of out-of-sync replicas. Two samples show whether one is stuck, slow or catching up; one does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.record import record_of
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import Sample, Snapshot, TopicPartition

#: Seconds: an older sample shows what was lost since, but not the present speed of a replica.
RECENT = 300.0
#: Seconds after which a replica with all records should long be in sync again.
PATIENCE = 20.0


class Pace(StrEnum):
    STUCK = "stuck"  # Its log end does not move, and the leader's is ahead.
    SLOW = "slow"  # It moves, but its lag does not shrink.
    CATCHING_UP = "catching up"  # Its lag shrinks.


@dataclass(frozen=True, slots=True)
class Lag:
    """`before` and `now` are records behind the leader; the rates are records per second, measured over `seconds`."""

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
        """Returns the seconds until it has caught up at this pace; None if it never will."""
        gain = self.rate - self.leader_rate
        return self.now / gain if gain > 0 else None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A live replica that has all records of its leader, but has been out of the ISR for `since` seconds."""

    tp: TopicPartition
    leader: int
    broker: int
    since: float


def left_out(snapshot: Snapshot, facts: Iterable[PartitionFacts]) -> tuple[LeftOut, ...]:
    """Returns replicas left out for `PATIENCE` s; a healthy leader adds a complete replica within a second.

    KRaft does not record the time of the last change, so there the duration is unknown.
    """
    record = record_of(snapshot)
    if record is None or not record.dated:
        return ()
    found = []
    for tp, leader, broker in _missing(record, facts):
        ends = snapshot.reported_ends(tp)
        registered = record.registrations
        newest = max(
            record.states[tp].mtime_ms,
            *(registered[b].registered_ms for b in (leader, broker) if b in registered),
        )
        since = snapshot.taken_at - newest / 1000
        if {leader, broker} <= ends.keys() and ends[broker] >= ends[leader] > 0 and since > PATIENCE:
            found.append(LeftOut(tp, leader, broker, since))
    return tuple(found)


def _missing(record: ClusterRecord, facts: Iterable[PartitionFacts]) -> list[tuple[TopicPartition, int, int]]:
    """Returns (partition, leader, live out-of-sync replica)."""
    return [
        (f.tp, f.leader, broker)
        for f in facts
        if f.n_isr < f.n_replicas and not f.deleting and f.tp in record.assignments and f.tp in record.states
        for broker in record.assignments[f.tp].replicas
        if broker not in record.states[f.tp].isr
        and broker in record.registrations
        and broker not in record.assignments[f.tp].adding
    ]


def recent(snapshot: Snapshot) -> tuple[Sample, ...]:
    return tuple(s for s in snapshot.samples if 0 < snapshot.taken_at - s.taken_at <= RECENT)


def lags_of(snapshot: Snapshot, facts: Iterable[PartitionFacts]) -> tuple[Lag, ...]:
    """Returns the lag of live out-of-sync replicas whose log ends are known at both moments, as are their leaders'."""
    samples, record = recent(snapshot), record_of(snapshot)
    if not samples or record is None:
        return ()
    first = max(samples, key=lambda s: s.taken_at)
    seconds = snapshot.taken_at - first.taken_at
    found = []
    for tp, leader, broker in _missing(record, facts):
        then = first.ends.get(tp, {})
        now = snapshot.reported_ends(tp)
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
