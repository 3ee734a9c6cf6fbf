"""Open questions of the report: gaps, sources that did not respond, clock conflicts, runs without an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise

from kfix.core.events import SnapshotRow, SpanCertainty
from kfix.incident.model import EventRow, Picture, RunRow, SourceRow, Summary

MOST = 12


def questions(
    summary: Summary,
    picture: Picture,
    snapshots: tuple[SnapshotRow, ...],
    runs: Iterable[RunRow],
    sources: Iterable[SourceRow],
    events: Iterable[EventRow],
) -> tuple[str, ...]:
    asked = [
        *_few(snapshots),
        *_ends(summary, snapshots),
        *_gaps(picture, snapshots),
        *_unread(snapshots),
        *(f"how run {run.id} ended: its journal has no final record" for run in runs if run.ended is None),
        *(f"{row.name}: {each}" for row in sources for each in row.problems),
        *_ahead(snapshots, events),
    ]
    more = [f"and {len(asked) - MOST} more of this kind"] if len(asked) > MOST else []
    return (*asked[:MOST], *more)


def _few(snapshots: tuple[SnapshotRow, ...]) -> Iterator[str]:
    if not snapshots:
        yield "the state of the cluster: no snapshot was given"
    elif len(snapshots) == 1:
        yield f"what changed: only one snapshot was given ({clock(snapshots[0].at)}), so there is nothing to compare"


def _ends(summary: Summary, snapshots: tuple[SnapshotRow, ...]) -> Iterator[str]:
    if snapshots and snapshots[0].findings:
        yield (
            f"the state before: the first snapshot ({clock(snapshots[0].at)}) already shows "
            f"{snapshots[0].worst} findings"
        )
    if snapshots and snapshots[-1].findings:
        yield (
            f"time of full recovery: the last snapshot ({clock(snapshots[-1].at)}) still shows "
            f"{snapshots[-1].worst} findings"
        )
    if summary.others_unknown:
        yield (
            "which other consumer groups were blocked: no source could list them while their coordinator was "
            "unavailable"
        )


def _gaps(picture: Picture, snapshots: tuple[SnapshotRow, ...]) -> Iterator[str]:
    """Yields the gaps in which something changed, at most four, longest first."""
    unknown = {(s.begin, s.end) for lane in picture.partitions for s in lane.spans if s.proof is SpanCertainty.UNKNOWN}
    found = []
    for before, after in pairwise(snapshots):
        if any(begin < after.at and end > before.at and begin > picture.begin for begin, end in unknown):
            found.append((after.at - before.at, before.at, after.at))
    for _, begin, end in sorted(found, reverse=True)[:4]:
        yield (
            f"what happened between {clock(begin)} and {clock(end)}: the state changed and there is no "
            "snapshot in between"
        )


def _unread(snapshots: tuple[SnapshotRow, ...]) -> Iterator[str]:
    lost: dict[str, list[float]] = {}
    for snapshot in snapshots:
        for each in snapshot.could_not_read:
            lost.setdefault(each.split(":")[0], []).append(snapshot.at)
    for source, times in sorted(lost.items()):
        when = (
            clock(times[0]) if len(times) == 1 else f"{clock(times[0])} to {clock(times[-1])}, {len(times)} snapshots"
        )
        yield f"state as seen by {source} ({when}): it did not respond"


def _ahead(snapshots: tuple[SnapshotRow, ...], events: Iterable[EventRow]) -> Iterator[str]:
    if snapshots and any(e.at > snapshots[-1].at + 1 and e.sources[0].startswith("snapshot ") for e in events):
        yield "which clock is right: a source in a snapshot reports times later than the snapshot itself"


def clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
