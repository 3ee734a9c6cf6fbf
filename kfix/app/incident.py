"""What a report of an incident is made of: files into the time line, one by one, so that memory stays bounded."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kfix import __version__
from kfix.adapters.brokerlog.files import found, labels
from kfix.adapters.brokerlog.lines import LogClock, TimeWindow
from kfix.adapters.brokerlog.reading import LogRead, read_log
from kfix.adapters.saved import files
from kfix.app.snapshots import load_snapshot
from kfix.errors import KfixError, UsageError
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.incident.report import IncidentReport, SourceRow
from kfix.model.plan.plan import Plan
from kfix.runbook.journal.journal import read_back
from kfix.timeline.build import Material
from kfix.timeline.journals import at

#: Seconds around the looks and runs in which logs are read where no time was asked for: what led to it comes before.
AROUND: Final = 3600.0
_TAKEN_AT: Final = re.compile(r'"taken_at"\s*:\s*([0-9.eE+-]+)')
_ENDINGS: Final = (".json", ".json.gz")


@dataclass(frozen=True, slots=True)
class Asked:
    """`since` and `until` bound looks, journals and logs; None: as far as the material goes."""

    looks: tuple[str, ...]
    journals: tuple[Path, ...] = ()
    logs: tuple[Path, ...] = ()
    log_zone: str = "UTC"
    since: float | None = None
    until: float | None = None
    title: str = ""


def make_report(asked: Asked, tell: Callable[[str], None] = lambda _: None) -> IncidentReport:
    """`tell` hears what was left out. UsageError for what cannot be read, or is of another cluster."""
    clock = _clock(asked.log_zone)
    logs = found(asked.logs)
    material = Material()
    for found_look in _ordered(asked, tell):
        _look(material, found_look, tell)
    for journal in asked.journals:
        _journal(material, journal, asked, tell)
    if logs:
        material.log_zone = asked.log_zone
        _logs(material, logs, clock, asked)
    title = asked.title or f"Incident on {material.cluster.name if material.cluster else 'an unknown cluster'}"
    return material.report(title, __version__, (asked.since, asked.until))


def _clock(zone: str) -> LogClock:
    try:
        ZoneInfo(zone)
        return LogClock(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--log-timezone: there is no time zone {zone!r}",
            hint="names are like UTC, Europe/Berlin, America/New_York",
        ) from None


# -- looks


@dataclass(frozen=True, slots=True)
class _File:
    """`named`: it was named itself, so it must be a look. `vantage` tells folders apart where there are several."""

    path: Path
    vantage: str
    named: bool


def _ordered(asked: Asked, tell: Callable[[str], None]) -> list[_File]:
    """By the time at which each was taken. Each file is read for its time only, then let go."""
    times: dict[Path, float] = {}
    by_name = set()
    for path, named in _files(asked.looks):
        by_name |= {path} if named else set()
        if path in times:
            continue
        try:
            times[path] = _taken_at(path)
        except UsageError as error:
            if named:
                raise
            tell(f"left out: {error}")
    chosen = {p: t for p, t in times.items() if _within(t, asked)}
    if len(chosen) < len(times):
        tell(f"left out: {len(times) - len(chosen)} of {len(times)} looks are not between --since and --until")
    if not chosen and not asked.journals and not asked.logs:
        raise UsageError("there is no look to report on", hint="kfix snapshot save FILE makes one")
    several = len({p.resolve().parent for p in chosen}) > 1
    paths = [p for p, _ in sorted(chosen.items(), key=lambda pair: pair[1])]
    return [_File(p, str(p.parent) if several else "", p in by_name) for p in paths]


def _within(at: float, asked: Asked) -> bool:
    return (asked.since is None or at >= asked.since) and (asked.until is None or at <= asked.until)


def _files(places: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """(file, whether it was named itself): what only lies in a folder, or fits a pattern, may be something else."""
    for place in places:
        path = Path(place)
        if path.is_dir():
            mine = sorted(p for p in path.iterdir() if p.name.endswith(_ENDINGS) and not p.name.startswith("."))
            if not mine:
                raise UsageError(f"{path}: holds no file that ends in .json or .json.gz")
            yield from ((p, False) for p in mine)
        elif not path.exists() and glob.has_magic(place):
            fitting = sorted(map(Path, glob.glob(place, recursive=True)))  # noqa: PTH207 - a pattern with its folder
            if not fitting:
                raise UsageError(f"{place}: no file fits this pattern")
            yield from ((p, False) for p in fitting if p.is_file())
        else:
            yield path, True


def _taken_at(path: Path) -> float:
    """From the head of a snapshot's file, where kfix writes it; else from the whole."""
    text = files.read_text(path)
    head = _TAKEN_AT.search(text[:300]) if files.is_snapshot(text) else None
    with suppress(ValueError):
        if head:
            return float(head[1])
    return load_snapshot(path).taken_at


def _look(material: Material, file: _File, tell: Callable[[str], None]) -> None:
    """In hindsight no broker that is away is "perhaps being restarted": the grace is 0."""
    from kfix_diagnostics.engine import Options, diagnose  # noqa: PLC0415 - only a report pays for the catalogue

    try:
        snapshot = load_snapshot(file.path)
    except UsageError as error:
        if file.named:
            raise
        tell(f"left out: {error}")
        material.sources.append(SourceRow("look", file.path.name, "left out", (str(error),)))
        return
    material.look(snapshot, diagnose(snapshot, options=Options(restart_grace=0.0)), file.vantage)
    material.sources.append(SourceRow("look", file.path.name, _told(snapshot)))


def _told(snapshot: Snapshot) -> str:
    answered = f"{len(snapshot.views)} broker{'' if len(snapshot.views) == 1 else 's'} answered"
    record = "ZooKeeper read" if snapshot.zookeeper is not None else "ZooKeeper not read"
    return f"{answered}, {record}"


# -- journals


def _journal(material: Material, place: Path, asked: Asked, tell: Callable[[str], None]) -> None:
    path = place / "journal.ndjson" if place.is_dir() else place
    if not path.is_file():
        raise UsageError(f"{path}: there is no such journal", hint="kfix runbook history lists the runs")
    back = read_back(path)
    if not back.records:
        raise UsageError(f"{path}: holds no record of a run" + (f": {back.broken}" if back.broken else ""))
    name = str(back.records[0].get("run") or path.parent.name)
    notes = [back.broken] if back.broken else []
    notes += ["its last line is torn: the run was cut off while writing"] if back.torn else []
    records = tuple(back.records)
    if not any(_within(at(r), asked) for r in records):
        tell(f"left out: the run {name} is not between --since and --until")
        return
    material.journal(records, name, tuple(notes), _plan(path.parent / "plan.json", str(records[0].get("plan", ""))))


def _plan(path: Path, wanted: str) -> Plan | None:
    """The plan that a run's folder keeps beside its journal; None where it is another's, or cannot be read."""
    from kfix.runbook.plan import planfile  # noqa: PLC0415 - only a report with a run pays for it

    try:
        plan = planfile.read(path)
    except KfixError:
        return None
    return plan if wanted in {plan.plan_id, plan.short_id} else None


# -- logs


def _logs(material: Material, logs: tuple[Path, ...], clock: LogClock, asked: Asked) -> None:
    window = _window(material, asked)
    named = labels(logs)
    material.losses.logs = True
    reads = []
    for path in logs:
        reads.append(read := LogRead(named[path]))
        for told in read_log(path, read.label, clock, window, read):
            material.log(told)
    none = not any(read.counted.entries for read in reads)
    material.sources += [SourceRow("log", read.label, _counted(read), _trouble(read, none=none)) for read in reads]


def _window(material: Material, asked: Asked) -> TimeWindow:
    times = [look.at for look in material.findings.looks] + [t for r in material.runs for t in (r.began, r.ended) if t]
    since = asked.since if asked.since is not None else min(times, default=0.0) - AROUND
    until = asked.until if asked.until is not None else max(times, default=32_503_680_000.0 - AROUND) + AROUND
    return TimeWindow(max(since, 0.0), until)


def _counted(read: LogRead) -> str:
    counted = read.counted
    return f"{counted.entries} entries in the time, {counted.outside} outside it, {read.told} of them told of something"


def _trouble(read: LogRead, *, none: bool) -> tuple[str, ...]:
    """`none`: no log has an entry of the time; that one of many rotated ones has none is as it should be."""
    counted, found_ = read.counted, list(read.trouble)
    if counted.torn:
        found_.append(f"{counted.torn} line{'' if counted.torn == 1 else 's'} could not be read as entries of a log")
    if counted.cut:
        found_.append(f"{counted.cut} line{'' if counted.cut == 1 else 's'} longer than 16 kB were read in part")
    if read.dropped:
        found_.append(f"{read.dropped} more entries told of something and were left out")
    if not counted.entries and not counted.outside:
        found_.append("holds no entry of Kafka's default pattern ([date] LEVEL message (logger))")
    elif none:
        found_.append("holds no entry of this time; is --log-timezone right?")
    return tuple(found_)
