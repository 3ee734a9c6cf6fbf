"""Reads the files of an incident report into the timeline, one by one, so that memory stays bounded."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from heapq import merge
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kfix import __version__
from kfix.core.clock_steps import times
from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.errors import KfixError, UsageError
from kfix.core.events import Event
from kfix.core.saved import files
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.wording import several
from kfix.diagnose.brokerlog.files import found, labels
from kfix.diagnose.brokerlog.lines import LogClock, TimeWindow
from kfix.diagnose.brokerlog.reading import LogRead, read_log
from kfix.diagnose.rounds import JudgeOptions, RoundJudge
from kfix.diagnose.snapshots import load_snapshot
from kfix.heal.journal.journal import read_back
from kfix.heal.model.plan import Plan
from kfix.incident.model import IncidentReport, SourceRow
from kfix.incident.recordings import RecordedPeriod, event_of
from kfix.incident.timeline.build import Material

#: Without --since and --until, seconds of logs that are read before the first and after the last snapshot or run.
AROUND: Final = 3600.0
_TAKEN_AT: Final = re.compile(r'"taken_at"\s*:\s*([0-9.eE+-]+)')
_ENDINGS: Final = (".json", ".json.gz")
#: The longest pause, in seconds, that `kfix watch --every` accepts.
_LONGEST_PAUSE: Final = 3600.0


@dataclass(frozen=True, slots=True)
class IncidentRequest:
    """The options of the report. `since` and `until` (seconds since the epoch) limit all material; None: no limit.

    `recorders` are folders that `kfix watch --recorder` wrote.
    """

    snapshots: tuple[str, ...]
    recorders: tuple[Path, ...] = ()
    journals: tuple[Path, ...] = ()
    logs: tuple[Path, ...] = ()
    log_zone: str = "UTC"
    since: float | None = None
    until: float | None = None
    title: str = ""


def make_report(request: IncidentRequest, notify: Callable[[str], None] = lambda _: None) -> IncidentReport:
    """Returns the report; `notify` is called with one line for each input that is left out.

    Raises UsageError if a named file cannot be read or is of another cluster.
    """
    clock = _clock(request.log_zone)
    logs = found(request.logs)
    material = Material()
    _snapshots(material, request, notify)
    for journal in request.journals:
        _journal(material, journal, request, notify)
    if logs:
        material.log_zone = request.log_zone
        _logs(material, logs, clock, request)
    title = request.title or f"Incident on {material.cluster.name if material.cluster else 'an unknown cluster'}"
    return material.report(title, __version__, (request.since, request.until))


def _clock(zone: str) -> LogClock:
    try:
        ZoneInfo(zone)
        return LogClock(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--log-timezone: there is no time zone {zone!r}",
            hint="names are like UTC, Europe/Berlin, America/New_York",
        ) from None


def _snapshots(material: Material, request: IncidentRequest, notify: Callable[[str], None]) -> None:
    """Adds the snapshots of files and recordings in order of time; each folder is a vantage, if there are several."""
    taken = _ordered(request, notify)
    recordings = {str(folder): RecordedPeriod(folder, request.since, request.until) for folder in request.recorders}
    both = bool(taken) + len(recordings) > 1
    pieces: list[Iterable[_Piece]] = [
        ((file.at, file.vantage or (str(file.path.parent) if both else ""), file) for file in taken),
        *(_of_recording(recording, name if both else "") for name, recording in recordings.items()),
    ]
    for _, vantage, piece in merge(*pieces, key=lambda each: each[0]):
        if isinstance(piece, _File):
            _snapshot(material, replace(piece, vantage=vantage), notify)
        elif isinstance(piece, Event):
            material.add_remark(piece)
        else:
            material.add_snapshot(*piece, vantage)
    material.sources += [recording.source() for recording in recordings.values()]
    if recordings and not material.findings.snapshots:
        raise UsageError(
            "the recording holds no snapshot of this period", hint="kfix watch --from-recorder DIR shows it"
        )


def _of_recording(recording: RecordedPeriod, vantage: str) -> Iterator[_Piece]:
    """Judges each snapshot with the previous one, as the watch did, so that an election is no finding."""
    judging = RoundJudge(JudgeOptions(every=_LONGEST_PAUSE, restart_grace=0.0))
    for record in recording.records():
        found = record.snapshot
        yield record.at, vantage, event_of(record) if found is None else (found, judging.judge(found).diagnosis)


@dataclass(frozen=True, slots=True)
class _File:
    """A file to read. If `named`, the user named it, so it must be a snapshot.

    `vantage` is its folder, if there are several.
    """

    path: Path
    vantage: str
    named: bool
    at: float


#: When, from which vantage, and what: a file, a remark of a watch, or a recorded snapshot with its diagnosis.
_Piece = tuple[float, str, _File | Event | tuple[Snapshot, Diagnosis]]


def _ordered(request: IncidentRequest, notify: Callable[[str], None]) -> list[_File]:
    """Returns the files in the order of their snapshots, and reads each file for its time."""
    times: dict[Path, float] = {}
    by_name = set()
    for path, named in _files(request.snapshots):
        by_name |= {path} if named else set()
        if path in times:
            continue
        try:
            times[path] = _taken_at(path)
        except UsageError as error:
            if named:
                raise
            notify(f"left out: {error}")
    chosen = {p: t for p, t in times.items() if _within(t, request)}
    if len(chosen) < len(times):
        notify(f"left out: {len(times) - len(chosen)} of {len(times)} snapshots are not between --since and --until")
    if not chosen and not request.journals and not request.logs and not request.recorders:
        raise UsageError("there is no snapshot to report on", hint="take one with: kfix snapshot save FILE")
    several = len({p.resolve().parent for p in chosen}) > 1
    paths = sorted(chosen.items(), key=lambda pair: pair[1])
    return [_File(p, str(p.parent) if several else "", p in by_name, at) for p, at in paths]


def _within(at: float, request: IncidentRequest) -> bool:
    return (request.since is None or at >= request.since) and (request.until is None or at <= request.until)


def _files(places: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Yields (file, whether the user named it); a file found by folder or pattern may be something else."""
    for place in places:
        path = Path(place)
        if path.is_dir():
            mine = sorted(p for p in path.iterdir() if p.name.endswith(_ENDINGS) and not p.name.startswith("."))
            if not mine:
                raise UsageError(f"{path}: contains no .json or .json.gz file")
            yield from ((p, False) for p in mine)
        elif not path.exists() and glob.has_magic(place):
            fitting = sorted(map(Path, glob.glob(place, recursive=True)))  # noqa: PTH207 - a pattern with its folder
            if not fitting:
                raise UsageError(f"{place}: no file matches this pattern")
            yield from ((p, False) for p in fitting if p.is_file())
        else:
            yield path, True


def _taken_at(path: Path) -> float:
    """Returns the time of a snapshot from the beginning of its file, where kfix writes it, else from the whole file."""
    text = files.read_text(path)
    head = _TAKEN_AT.search(text[:300]) if files.is_snapshot(text) else None
    with suppress(ValueError):
        if head:
            return float(head[1])
    return load_snapshot(path).taken_at


def _snapshot(material: Material, file: _File, notify: Callable[[str], None]) -> None:
    try:
        snapshot = load_snapshot(file.path)
    except UsageError as error:
        if file.named:
            raise
        notify(f"left out: {error}")
        material.sources.append(SourceRow("snapshot", file.path.name, "left out", (str(error),)))
        return
    material.add_snapshot(snapshot, _judged(snapshot), file.vantage)
    material.sources.append(SourceRow("snapshot", file.path.name, _content(snapshot)))


def _judged(snapshot: Snapshot) -> Diagnosis:
    """Returns the diagnosis. The restart grace is 0: in hindsight, a missing broker is missing."""
    from kfix_diagnostics.engine import diagnose  # noqa: PLC0415 - only a report pays for the catalogue

    return diagnose(snapshot, criteria=Criteria(restart_grace=0.0))


def _content(snapshot: Snapshot) -> str:
    answered = f"{several(len(snapshot.views), 'broker')} responded"
    if snapshot.quorum is not None:
        record = "quorum read" if snapshot.quorum.read else "quorum not read"
    else:
        record = "ZooKeeper read" if snapshot.zookeeper is not None else "ZooKeeper not read"
    return f"{answered}, {record}"


def _journal(material: Material, place: Path, request: IncidentRequest, notify: Callable[[str], None]) -> None:
    path = place / "journal.ndjson" if place.is_dir() else place
    if not path.is_file():
        raise UsageError(f"{path}: no such journal", hint="kfix runbook history lists the runs")
    back = read_back(path)
    if not back.records:
        raise UsageError(f"{path}: contains no record of a run" + (f": {back.broken}" if back.broken else ""))
    name = str(back.records[0].get("run") or path.parent.name)
    notes = [back.broken] if back.broken else []
    notes += ["its last line is incomplete: the run was killed while writing"] if back.torn else []
    records = tuple(back.records)
    if not any(_within(at, request) for at in times(records)):
        notify(f"left out: the run {name} is not between --since and --until")
        return
    material.add_journal(records, name, tuple(notes), _plan(path.parent / "plan.json", str(records[0].get("plan", ""))))


def _plan(path: Path, plan_id: str) -> Plan | None:
    """Returns the plan stored beside the journal, or None if it cannot be read or is another run's."""
    from kfix.heal.plan import planfile  # noqa: PLC0415 - only a report with a run pays for it

    try:
        plan = planfile.read(path)
    except KfixError:
        return None
    return plan if plan_id in {plan.plan_id, plan.short_id} else None


def _logs(material: Material, logs: tuple[Path, ...], clock: LogClock, request: IncidentRequest) -> None:
    window = _window(material, request)
    named = labels(logs)
    material.losses.logs = True
    reads = []
    for path in logs:
        reads.append(read := LogRead(named[path]))
        for entry in read_log(path, read.label, clock, window, read):
            material.add_log_entry(entry)
    none = not any(read.counted.entries for read in reads)
    material.sources += [SourceRow("log", read.label, _counted(read), _problems(read, none=none)) for read in reads]


def _window(material: Material, request: IncidentRequest) -> TimeWindow:
    times = [snapshot.at for snapshot in material.findings.snapshots] + [
        t for r in material.runs for t in (r.began, r.ended) if t
    ]
    since = request.since if request.since is not None else min(times, default=0.0) - AROUND
    until = request.until if request.until is not None else max(times, default=32_503_680_000.0 - AROUND) + AROUND
    return TimeWindow(max(since, 0.0), until)


def _counted(read: LogRead) -> str:
    counted = read.counted
    return f"{counted.entries} entries in the period, {counted.outside} outside, {read.recognized} recognized"


def _problems(read: LogRead, *, none: bool) -> tuple[str, ...]:
    """Returns the problems of one log. `none`: no log at all has an entry in the period, so it is worth a remark."""
    counted, problems = read.counted, list(read.trouble)
    if counted.torn:
        problems.append(f"{several(counted.torn, 'line')} could not be read as log entries")
    if counted.cut:
        problems.append(f"{several(counted.cut, 'line')} longer than 16 kB, read in part")
    if read.dropped:
        problems.append(f"{read.dropped} more recognized entries were left out")
    if not counted.entries and not counted.outside:
        problems.append("contains no entry in Kafka's default pattern ([date] LEVEL message (logger))")
    elif none:
        problems.append("contains no entry of this period; check --log-timezone")
    return tuple(problems)
