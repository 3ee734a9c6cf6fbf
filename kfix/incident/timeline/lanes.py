"""Lanes of the picture: changed partitions only, one lane per distinct history, worst first, as many as fit a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kfix.core.events import Lane, Span, SpanCertainty, changes_over
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.incident.model import Leaderless, Picture
from kfix.incident.timeline.spans import spans
from kfix.incident.timeline.tracks import Tracks

#: Most histories that are drawn; more would not be readable.
MOST: Final = 30
#: Changes within this many seconds count as one moment when histories are compared.
TOGETHER: Final = 2.0


def picture(tracks: Tracks, begin: float, end: float, runs: tuple[Span, ...]) -> Picture:
    every = {tp: spans(known, begin, end) for tp, known in tracks.partitions.items()}
    changed = {tp: made for tp, made in every.items() if changes_over(made) > 1 or _leaderless(made)}
    lanes = sorted(_grouped(changed), key=_badness)
    brokers = tuple(
        Lane(f"broker {broker}", spans(known, begin, end)) for broker, known in sorted(tracks.brokers.items())
    )
    return Picture(
        begin,
        end,
        Lane("controller", spans(tracks.controller, begin, end)) if tracks.controller else None,
        brokers,
        tuple(lanes[:MOST]),
        runs,
        (len(lanes[MOST:]), sum(len(lane.partitions) for lane in lanes[MOST:])),
        len(every) - len(changed),
        _without_leader(lanes),
    )


def _without_leader(lanes: Iterable[Lane]) -> Leaderless:
    """Returns the partitions without a leader, including those that are not drawn."""
    mine = [(lane, [s for s in lane.spans if s.value == -1]) for lane in lanes]
    mine = [(lane, none) for lane, none in mine if none]
    return Leaderless(
        tuple(sorted(tp for lane, _ in mine for tp in lane.partitions)),
        max((sum(s.end - s.begin for s in none) for _, none in mine), default=0.0),
        all(s.proof is SpanCertainty.KNOWN for _, none in mine for s in none),
    )


def _leaderless(made: Iterable[Span]) -> bool:
    return any(s.value == -1 for s in made)


def _grouped(changed: Mapping[TopicPartition, tuple[Span, ...]]) -> Iterable[Lane]:
    moments = _moments(s.begin for made in changed.values() for s in made)
    groups: dict[tuple[object, ...], list[TopicPartition]] = {}
    for tp, made in changed.items():
        story = tuple((moments[s.begin], s.value, s.proof, None if s.isr is None else frozenset(s.isr)) for s in made)
        groups.setdefault(story, []).append(tp)
    for members in groups.values():
        members.sort()
        made = changed[members[0]]
        replicas = sorted({b for s in made for b in s.isr or ()} | {s.value for s in made if s.value not in {None, -1}})
        yield Lane(str(members[0]), made, tuple(members), tuple(b for b in replicas if b is not None))


def _moments(times: Iterable[float]) -> dict[float, int]:
    """Numbers the moments; times within `TOGETHER` seconds of the previous one share its number."""
    found: dict[float, int] = {}
    number, last = 0, float("-inf")
    for at in sorted(set(times)):
        if at - last > TOGETHER:
            number += 1
        found[at] = number
        last = at
    return found


def _badness(lane: Lane) -> tuple[float, float, float, str]:
    leaderless = sum(s.end - s.begin for s in lane.spans if s.value == -1)
    none = -1.0 if any(s.value == -1 for s in lane.spans) else 0.0
    return none, -leaderless, -float(changes_over(lane.spans)), lane.name
