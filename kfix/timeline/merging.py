"""One row for one fact: what several sources told is joined, and equal events of many partitions are one row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kfix.model.incident_report import EventRow
from kfix.model.timeline import Event

#: Seconds within which equal events of several partitions are one row.
TOGETHER: Final = 2.0


def merged(events: Iterable[Event]) -> tuple[EventRow, ...]:
    return tuple(sorted(_rows(_facts(events)), key=lambda r: (r.at, r.theme, r.text)))


def _facts(events: Iterable[Event]) -> list[tuple[Event, tuple[str, ...]]]:
    """Events of one key as one: the one that knows the time best, with all sources."""
    alone: list[tuple[Event, tuple[str, ...]]] = []
    keyed: dict[str, list[Event]] = {}
    for event in events:
        if event.key:
            keyed.setdefault(event.key, []).append(event)
        else:
            alone.append((event, (event.source,)))
    for same in keyed.values():
        best = min(same, key=lambda e: (e.not_before is not None, e.at))
        loudest = max(same, key=lambda e: (e.tone != "plain", len(e.text)))
        told = Event(
            best.at, best.theme, loudest.tone, loudest.text, best.source, best.not_before, best.partition, best.broker
        )
        alone.append((told, tuple(dict.fromkeys(e.source for e in same))))
    return alone


def _rows(facts: Iterable[tuple[Event, tuple[str, ...]]]) -> Iterable[EventRow]:
    """Equal but for the partition, and close: one row."""
    open_rows: dict[tuple[object, ...], list[tuple[Event, tuple[str, ...]]]] = {}
    for event, sources in sorted(facts, key=lambda f: f[0].at):
        kind = (event.theme, event.tone, event.text, event.broker, event.not_before, event.partition is None)
        held = open_rows.get(kind)
        if held and event.partition is not None and event.at - held[-1][0].at <= TOGETHER:
            held.append((event, sources))
            continue
        if held:
            yield _row(held)
        open_rows[kind] = [(event, sources)]
    for held in open_rows.values():
        yield _row(held)


def _row(held: list[tuple[Event, tuple[str, ...]]]) -> EventRow:
    first = held[0][0]
    return EventRow(
        at=first.at,
        until=held[-1][0].at,
        theme=first.theme,
        tone=first.tone,
        text=first.text,
        sources=tuple(dict.fromkeys(s for _, sources in held for s in sources)),
        not_before=first.not_before,
        partitions=tuple(sorted({e.partition for e, _ in held if e.partition is not None})),
        broker=first.broker,
    )
