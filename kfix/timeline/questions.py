"""What the material does not answer, said as such: gaps, silent sources, clocks, runs without an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise

from kfix.model.incident.report import EventRow, Picture, RunRow, SourceRow, Summary
from kfix.model.incident.timeline import SnapshotRow, SpanCertainty

MOST = 12


def questions(
    summary: Summary,
    picture: Picture,
    looks: tuple[SnapshotRow, ...],
    runs: Iterable[RunRow],
    sources: Iterable[SourceRow],
    events: Iterable[EventRow],
) -> tuple[str, ...]:
    asked = [
        *_few(looks),
        *_ends(summary, looks),
        *_gaps(picture, looks),
        *_unread(looks),
        *(f"how run {run.id} ended: its journal has no end" for run in runs if run.ended is None),
        *(f"{row.name}: {each}" for row in sources for each in row.trouble),
        *_ahead(looks, events),
    ]
    more = [f"and {len(asked) - MOST} more of this kind"] if len(asked) > MOST else []
    return (*asked[:MOST], *more)


def _few(looks: tuple[SnapshotRow, ...]) -> Iterator[str]:
    if not looks:
        yield "what the cluster was like: no look was given"
    elif len(looks) == 1:
        yield f"what changed: there is one look only ({clock(looks[0].at)}), so there is nothing to compare it with"


def _ends(summary: Summary, looks: tuple[SnapshotRow, ...]) -> Iterator[str]:
    if looks and looks[0].findings:
        yield f"what it was like before: the first look ({clock(looks[0].at)}) already shows {looks[0].worst} findings"
    if looks and looks[-1].findings:
        yield f"when it was whole again: the last look ({clock(looks[-1].at)}) still shows {looks[-1].worst} findings"
    if summary.others_unknown:
        yield "which other consumer groups were blocked: while their coordinator was away no source could list them"


def _gaps(picture: Picture, looks: tuple[SnapshotRow, ...]) -> Iterator[str]:
    """Only gaps in which something changed are a question; the longest first."""
    unknown = {(s.begin, s.end) for lane in picture.partitions for s in lane.spans if s.proof is SpanCertainty.UNKNOWN}
    found = []
    for before, after in pairwise(looks):
        if any(begin < after.at and end > before.at and begin > picture.begin for begin, end in unknown):
            found.append((after.at - before.at, before.at, after.at))
    for _, begin, end in sorted(found, reverse=True)[:4]:
        yield f"what led from one state to the next between {clock(begin)} and {clock(end)}: no look in between"


def _unread(looks: tuple[SnapshotRow, ...]) -> Iterator[str]:
    lost: dict[str, list[float]] = {}
    for look in looks:
        for each in look.could_not_read:
            lost.setdefault(each.split(":")[0], []).append(look.at)
    for source, times in sorted(lost.items()):
        when = clock(times[0]) if len(times) == 1 else f"{clock(times[0])} to {clock(times[-1])}, {len(times)} looks"
        yield f"what {source} saw ({when}): it did not answer"


def _ahead(looks: tuple[SnapshotRow, ...], events: Iterable[EventRow]) -> Iterator[str]:
    if looks and any(e.at > looks[-1].at + 1 and e.sources[0].startswith("look ") for e in events):
        yield "whose clock is right: a source of a look tells times after the look itself"


def clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
