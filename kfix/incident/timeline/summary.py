"""The summary: when the incident began, was noticed, when service was restored, and when the cluster recovered."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise

from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Severity
from kfix.core.events import SnapshotRow, SpanCertainty, Theme, Tone
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import some
from kfix.incident.model import CauseRow, EventRow, Moment, Picture, RunRow, SourceRow, Summary
from kfix.incident.timeline.findings import Findings

# Open questions of the report: gaps, sources that did not respond, clock conflicts, runs without an end.

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
    lost = grouped((each.split(":")[0], snapshot.at) for snapshot in snapshots for each in snapshot.could_not_read)
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


#: Themes whose bad events are signs of the incident itself; findings and runs only describe it.
_SIGNS = frozenset(Theme) - {Theme.FINDING, Theme.RUN}


def summarise(findings: Findings, events: tuple[EventRow, ...], runs: tuple[RunRow, ...]) -> Summary:
    snapshots, causes = tuple(findings.snapshots), findings.causes()
    noticed = _noticed(snapshots)
    began = _began(snapshots, events, noticed)
    recovered = _clear(findings, Severity.WARNING, "no finding of severity warning or above any more")
    grave = any(c.severity == "critical" for c in causes)
    restored = _proved(runs, causes) or (
        _clear(findings, Severity.CRITICAL, "no critical finding any more") if grave else None
    )
    partitions = _partitions(causes, events)
    return Summary(
        verdict=_verdict(snapshots, causes, recovered),
        began=began,
        noticed=noticed,
        restored=restored if grave else None,
        recovered=recovered,
        partitions=partitions,
        groups=tuple(sorted({g for c in causes for g in c.groups})),
        others_unknown=any(s.worst.blocked.others_unknown for s in findings.seen.values()),
        brokers=tuple(
            sorted({e.broker for e in events if _is_sign(e) and e.theme is Theme.BROKER and e.broker is not None})
        ),
    )


def _noticed(snapshots: tuple[SnapshotRow, ...]) -> Moment | None:
    first = next((snapshot for snapshot in snapshots if snapshot.findings), None)
    return None if first is None else Moment(first.at, f"first snapshot with a finding, {first.name}")


def _is_sign(event: EventRow) -> bool:
    return event.tone is Tone.BAD and event.theme in _SIGNS


def _began(snapshots: tuple[SnapshotRow, ...], events: tuple[EventRow, ...], noticed: Moment | None) -> Moment | None:
    """Returns the earliest sign between the last healthy snapshot and the moment of detection."""
    if noticed is None:
        signs = [e for e in events if _is_sign(e)]
        return _moment(min(signs, key=_earliest)) if signs else None
    well = max(
        (s.at for s in snapshots if not s.findings and not s.unsettled and s.at < noticed.at),
        default=None,
    )
    signs = [e for e in events if _is_sign(e) and e.at <= noticed.at and (well is None or e.at > well)]
    if signs:
        return _moment(min(signs, key=_earliest))
    return Moment(noticed.at, f"no earlier sign than the {noticed.why}", well)


def _earliest(event: EventRow) -> tuple[float, bool]:
    return event.at, event.not_before is not None


def _moment(sign: EventRow) -> Moment:
    where = f" ({named(sign.partitions)})" if sign.partitions else ""
    return Moment(sign.at, f"{sign.text}{where}; {sign.sources[0]}", sign.not_before)


def _proved(runs: tuple[RunRow, ...], causes: tuple[CauseRow, ...]) -> Moment | None:
    """Returns when the last successful run ended, unless a later snapshot shows a critical finding again."""
    proved = [run.ended for run in runs if run.outcome == "proved" and run.ended is not None]
    if not proved or any(c.severity == "critical" and c.last > proved[-1] for c in causes):
        return None
    name = next(run.runbook for run in runs if run.ended == proved[-1])
    return Moment(proved[-1], f"run of {name} verified that clients can work")


def _clear(findings: Findings, least: Severity, why: str) -> Moment | None:
    found = findings.clear_from(least)
    return None if found is None else Moment(found[1], why, found[0])


def _partitions(causes: Iterable[CauseRow], events: Iterable[EventRow]) -> tuple[TopicPartition, ...]:
    named_by_causes = {tp for c in causes for tp in c.partitions}
    return tuple(sorted(named_by_causes | {tp for e in events if _is_sign(e) for tp in e.partitions}))


def _verdict(snapshots: tuple[SnapshotRow, ...], causes: tuple[CauseRow, ...], recovered: Moment | None) -> str:
    if len(snapshots) < 2 and not causes:
        return "nothing to compare"
    if not causes:
        return "no findings in any snapshot"
    return "resolved" if recovered is not None else "not resolved at the last snapshot"


def named(partitions: tuple[TopicPartition, ...], most: int = 3) -> str:
    """Returns text such as `orders-3` or `orders-1, orders-3 and 35 more`."""
    return some(partitions, most)
