"""Signs in the first snapshot: they began earlier, at the latest when a source recorded something that shows them.

A record may have been written again since, so its time is only the latest possible one.
"""

from collections.abc import Iterator

from kfix.core.derive.background import leavings
from kfix.core.derive.liveness import Left
from kfix.core.derive.record import record_of
from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Mode, Snapshot
from kfix.incident.timeline.changes import partitions
from kfix.incident.timeline.changes.cluster import leaders as disagreeing
from kfix.incident.timeline.when import stamped, states, where

_LATEST = ", at this time at the latest"
_UNDATED = " (before the first snapshot, time unknown)"


def signs(first: Snapshot) -> Iterator[Event]:
    yield from _brokers(first)
    for tp, state in states(first).items():
        if state.leader == -1:
            _, text = partitions.leader_sentence(-2, -1, state.leader_epoch)
            written = stamped(state.mtime_ms, first.taken_at)
            at = first.taken_at if written is None else written
            known = _UNDATED if written is None else _LATEST
            key = f"leader:{tp}:{state.leader_epoch}"
            yield Event(at, Theme.LEADER, Tone.BAD, text + known, where(first), None, tp, key=key)
    for tp in sorted(disagreeing(first)):
        text = "brokers disagree on the leader, already in the first snapshot"
        yield Event(first.taken_at, Theme.VIEWS, Tone.BAD, text, where(first), None, tp)


def _brokers(first: Snapshot) -> Iterator[Event]:
    record = record_of(first)
    if record is None:
        return
    left = leavings(first)
    what = "fenced" if record.mode is Mode.KRAFT else "not registered in ZooKeeper"
    assigned = {broker for each in record.assignments.values() for broker in each.replicas}
    for broker in sorted(assigned - record.registrations.keys()):
        known = left.get(broker, Left())
        gone = stamped(known.not_after or 0, first.taken_at)
        at, when = (first.taken_at, _UNDATED) if gone is None else (gone, _LATEST)
        text, key = f"broker {broker} is {what}{when}", f"gone:{broker}"
        yield Event(at, Theme.BROKER, Tone.BAD, text, where(first), None, None, broker, key, lasting=False)
