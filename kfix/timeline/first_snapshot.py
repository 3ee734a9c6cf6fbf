"""What the first look already shows: its beginning lies before; the time of writing where it is kept."""

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
            _, text = leaders.told(-2, -1, state.leader_epoch)
            written = stamped(state.mtime_ms, first.taken_at)
            at = first.taken_at if written is None else written
            known = "" if written is not None else " (before the first look, unknown when)"
            key = f"leader:{tp}:{state.leader_epoch}"
            yield Event(at, Theme.LEADER, Tone.BAD, text + known, where(first), None, tp, key=key)
    for tp in sorted(disagreeing(first)):
        text = "brokers disagree about the leader, already at the first look"
        yield Event(first.taken_at, Theme.VIEWS, Tone.BAD, text, where(first), None, tp)
