"""Merges events: one fact from several sources becomes one row, and so do equal events of several partitions."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kfix.core.derive.grouping import grouped
from kfix.core.events import Event, Tone
from kfix.incident.model import EventRow

#: Equal events of several partitions within this many seconds become one row.
TOGETHER: Final = 2.0
_Fact = tuple[Event, tuple[str, ...]]


def merged(events: Iterable[Event]) -> tuple[EventRow, ...]:
    return tuple(sorted(_rows(_facts(events)), key=lambda r: (r.at, r.theme, r.text)))


def _facts(events: Iterable[Event]) -> list[_Fact]:
    """Returns one event per fact, with all of its sources."""
    keyed = grouped((event.key, event) for event in events)
    alone: list[_Fact] = [(event, (event.source,)) for event in keyed.pop("", ())]
    for same in keyed.values():
        alone += map(_one, [same] if same[0].lasting else _near(same))
    return alone


def _near(same: list[Event]) -> list[list[Event]]:
    """Groups exact events that are close in time; an event with a time range joins an exact event within that range."""
    groups: list[list[Event]] = []
    for event in sorted(same, key=lambda e: (e.not_before is not None, e.at)):
        mine = next((g for g in groups if _touch(g[0], event) or _touch(g[-1], event)), None)
        if mine is None:
            groups.append([event])
        else:
            mine.append(event)
    return groups


def _touch(exact: Event, other: Event) -> bool:
    if other.not_before is None:
        return abs(exact.at - other.at) <= TOGETHER
    least = other.not_before if exact.not_before is None else max(other.not_before, exact.not_before)
    return least - TOGETHER <= exact.at <= other.at + TOGETHER


def _one(same: list[Event]) -> _Fact:
    """Returns one event with the most precise time and the most informative text of the group."""
    best = min(same, key=lambda e: (e.not_before is not None, e.at))
    loudest = max(same, key=lambda e: (e.tone != Tone.PLAIN, e.source.startswith("snapshot "), len(e.text)))
    joined = replace(best, tone=loudest.tone, text=loudest.text, theme=loudest.theme)
    return joined, tuple(dict.fromkeys(e.source for e in sorted(same, key=lambda e: e.at)))


def _rows(facts: Iterable[_Fact]) -> Iterable[EventRow]:
    """Yields one row for events that differ only in the partition and are close in time."""
    open_rows: dict[tuple[object, ...], list[_Fact]] = {}
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


def _row(held: list[_Fact]) -> EventRow:
    first = held[0][0]
    return EventRow(
        at=first.at,
        until=held[-1][0].at,
        theme=first.theme,
        tone=first.tone,
        text=first.text,
        sources=_files(s for _, sources in held for s in sources),
        not_before=first.not_before,
        partitions=tuple(sorted({e.partition for e, _ in held if e.partition is not None})),
        broker=first.broker,
    )


def _files(sources: Iterable[str]) -> tuple[str, ...]:
    """Returns the sources with only the first line of each log: a row of 40 partitions may have 40 lines of one log."""
    first: dict[str, str] = {}
    for source in sources:
        name, _, line = source.rpartition(":")
        first.setdefault(name if line.isdigit() else source, source)
    return tuple(first.values())
