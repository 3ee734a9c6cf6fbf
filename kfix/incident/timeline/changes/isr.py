"""ISR changes: which replicas left, and which returned."""

from __future__ import annotations

from collections.abc import Iterator

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.incident.timeline.when import between, comparable, states, where


def changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    if not comparable(before, after):
        return
    was = states(before)
    for tp, now in states(after).items():
        old = was.get(tp)
        if old is None or set(old.isr) == set(now.isr) or now.version < old.version:
            continue
        at, not_before = between(before, after, now.mtime_ms if now.version == old.version + 1 else 0)
        tone, text = sentence(old.isr, now.isr)
        yield Event(at, Theme.ISR, tone, text, where(after), not_before, tp, key=key_of(tp, now.isr), lasting=False)


def key_of(tp: TopicPartition, isr: tuple[int, ...]) -> str:
    """Returns the key of a change, the same from a snapshot and from the leader's log."""
    return f"isr:{tp}:{','.join(map(str, sorted(isr)))}"


def sentence(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[Tone, str]:
    gone, came = set(old) - set(new), set(new) - set(old)
    arrow = f"{_ids(old)} \N{RIGHTWARDS ARROW} {_ids(new)}"
    if gone and came:
        return Tone.BAD, f"ISR changed {arrow}"
    return (Tone.BAD, f"ISR shrank {arrow}") if gone else (Tone.GOOD, f"ISR grew {arrow}")


def _ids(isr: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, isr))}]"
