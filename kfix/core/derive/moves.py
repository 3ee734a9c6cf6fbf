"""Which reassignments make no progress: the log ends of their new replicas, over several snapshots.

One snapshot never shows it. Neither KRaft nor ZooKeeper records how much of a replica has been copied.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.derive.record import record_of
from kfix.core.snapshot.moves import MoveSeen
from kfix.core.snapshot.snapshot import LogEnd, Snapshot, TopicPartition

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
