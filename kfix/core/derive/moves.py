"""Reassignments and out-of-sync replicas that make progress, or do not: their log ends over several snapshots."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.record import record_of
from kfix.core.snapshot.memory import MoveSeen
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import LogEnd, Sample, Snapshot, TopicPartition

# Which reassignments make no progress: the log ends of their new replicas, over several snapshots.
#
# One snapshot never shows it. Neither KRaft nor ZooKeeper records how much of a replica has been copied.

#: Most reassignments that are kept.
MOST = 5000
#: Seconds between two snapshots after which another reassignment to the same broker may have begun in between: a new
#: replica has no record, so that only one that has records shows that it is the same.
_APART = 600.0
#: Seconds after which an earlier snapshot shows nothing about a reassignment.
_FORGET = 86_400.0


def moves_seen(snapshot: Snapshot) -> dict[TopicPartition, MoveSeen]:
    """Returns the reassignments that add a replica which is not in sync; without those whose log ends are unknown."""
    if snapshot.reassignments is None:
        return dict(snapshot.memory.moves)
    found = {}
    for tp, logs in sorted(_added(snapshot).items())[:MOST]:
        before = snapshot.memory.moves.get(tp)
        if any(log is None for log in logs.values()):
            if before is not None and {b for b, _ in before.ends} == logs.keys():
                found[tp] = before
            continue
        known = {b: log for b, log in logs.items() if log is not None}
        ends = tuple((b, log.end) for b, log in sorted(known.items()))
        same = before is not None and before.ends == ends and _is_the_same(before.last, known, snapshot.taken_at)
        since = before.since if before is not None and same else snapshot.taken_at
        for sample in snapshot.samples:
            then = sample.ends.get(tp, {})
            if all(then.get(b) == end for b, end in ends) and _is_the_same(sample.taken_at, known, snapshot.taken_at):
                since = min(since, sample.taken_at)
        found[tp] = MoveSeen(since, snapshot.taken_at, ends)
    return found


def _added(snapshot: Snapshot) -> dict[TopicPartition, dict[int, LogEnd | None]]:
    """Returns the log of each replica that is being added and is not in sync; None if it is unknown."""
    record = record_of(snapshot)
    found: dict[TopicPartition, dict[int, LogEnd | None]] = {}
    for tp, move in (snapshot.reassignments or {}).items():
        state = None if record is None else record.states.get(tp)
        late = () if state is None else tuple(b for b in move.adding if b not in state.isr)
        if late:
            logs = snapshot.log_ends.get(tp, {})
            found[tp] = {b: log if (log := logs.get(b)) is not None and not log.error else None for b in late}
    return found


def _is_the_same(at: float, logs: Mapping[int, LogEnd], now: float) -> bool:
    """Returns whether a snapshot of this time with the same log ends shows the same reassignment."""
    return 0 <= now - at <= _APART or (0 <= now - at <= _FORGET and all(log.end > log.start for log in logs.values()))


def still_for(snapshot: Snapshot) -> dict[TopicPartition, float]:
    """Returns, by reassignment, the least seconds for which none of its new replicas has gained a record.

    It leaves out reassignments that no earlier snapshot shows. Times in which one of the brokers was dead do not count.
    """
    found = {}
    known = snapshot.memory.moves.keys() | {tp for sample in snapshot.samples for tp in sample.ends}
    for tp, seen in moves_seen(snapshot).items():
        if tp in known and seen.last == snapshot.taken_at:
            away = [snapshot.memory.dead[b] for b in _brokers(tp, seen, snapshot) if b in snapshot.memory.dead]
            found[tp] = max(snapshot.taken_at - max((seen.since, *away)), 0.0)
    return found


def _brokers(tp: TopicPartition, seen: MoveSeen, snapshot: Snapshot) -> set[int]:
    record = record_of(snapshot)
    state = None if record is None else record.states.get(tp)
    return {b for b, _ in seen.ends} | ({state.leader} if state is not None else set())


# The movement of out-of-sync replicas. Two samples show whether one is stuck, slow or catching up; one does not.

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
