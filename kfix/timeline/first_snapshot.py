"""Signs in the first snapshot: they began earlier, at the recorded write time where there is one."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.model.cluster.snapshot import Snapshot
from kfix.model.incident.timeline import Event, Theme, Tone
from kfix.timeline.changes import leaders
from kfix.timeline.changes.views import leaders as disagreeing
from kfix.timeline.when import stamped, states, where


def signs(first: Snapshot) -> Iterator[Event]:
    for tp, state in states(first).items():
        if state.leader == -1:
            _, text = leaders.sentence(-2, -1, state.leader_epoch)
            written = stamped(state.mtime_ms, first.taken_at)
            at = first.taken_at if written is None else written
            known = "" if written is not None else " (before the first snapshot, time unknown)"
            key = f"leader:{tp}:{state.leader_epoch}"
            yield Event(at, Theme.LEADER, Tone.BAD, text + known, where(first), None, tp, key=key)
    for tp in sorted(disagreeing(first)):
        text = "brokers disagree on the leader, already in the first snapshot"
        yield Event(first.taken_at, Theme.VIEWS, Tone.BAD, text, where(first), None, tp)
