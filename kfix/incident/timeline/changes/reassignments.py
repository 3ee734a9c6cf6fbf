"""Reassignments that began or ended, from the controller's list, or from the topic znodes if that was not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Assignment, Snapshot, TopicPartition
from kfix.incident.timeline.when import between, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    was, now = moving(before), moving(after)
    if was is None or now is None:
        return
    at, since = between(before, after)
    for tp in sorted(now.keys() - was.keys()):
        move = now[tp]
        text = f"reassignment began: adding {list(move.adding)}, removing {list(move.removing)}"
        yield Event(at, Theme.REASSIGNMENT, Tone.NOTE, text, where(after), since, tp)
    for tp in sorted(was.keys() - now.keys()):
        yield Event(at, Theme.REASSIGNMENT, Tone.NOTE, "reassignment ended", where(after), since, tp)


def moving(snapshot: Snapshot) -> Mapping[TopicPartition, Assignment] | None:
    """Returns the ongoing reassignments, or None if no source reports them."""
    if snapshot.reassignments is not None:
        return snapshot.reassignments
    if snapshot.zookeeper is None:
        return None
    assigned = snapshot.zookeeper.assignments
    return {tp: each for tp, each in assigned.items() if each.adding or each.removing}
