"""The folder of one partition: segments, leader epochs, and other files."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from kfix.core.disk import segments
from kfix.core.disk.checkpoints import LEADER_EPOCH, PARTITION, read_epochs, read_topic_id
from kfix.core.disk.model import Epoch, Grade, Oddity, Replica
from kfix.core.disk.opening import NotReadError, not_read, shown
from kfix.core.snapshot.snapshot import TopicPartition

_NAME = re.compile(r"([A-Za-z0-9._-]{1,249})-([0-9]{1,10})\Z")
_ASIDE = re.compile(r"([A-Za-z0-9._-]{1,249})-([0-9]{1,10})\.([A-Za-z0-9_-]{1,40})-(delete|future|stray)\Z")
_KNOWN = re.compile(r"[0-9]{20}\.(log|index|timeindex|txnindex|snapshot)\Z|.*\.checkpoint\Z|quorum-state\Z")
_LEFTOVERS = {
    ".deleted": "marked for deletion: a broker deletes it after a minute, or at its next start",
    ".cleaned": "left by an unfinished log cleaner run: a broker deletes it at its next start",
    ".swap": "left by a finished log cleaner run: a broker puts it in place at its next start",
    ".tmp": "left by an unfinished write: nothing reads it",
}

T = TypeVar("T")


class Named(NamedTuple):
    tp: TopicPartition
    state: str


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is read. `every`: no segment is skipped. `crc`: check all batches read, not only the last ones."""

    every: bool = False
    crc: bool = False


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """The checkpoints of a log directory, by partition."""

    high_watermark: Mapping[TopicPartition, int]
    recovery_point: Mapping[TopicPartition, int]
    log_start: Mapping[TopicPartition, int]
    cleaned: Mapping[TopicPartition, int]


def named(name: str) -> Named | None:
    """Returns the partition and state ("", delete, future, stray) by folder name, or None for another folder."""
    match = _ASIDE.match(name) or _NAME.match(name)
    if match is None or int(match[2]) >= 1 << 31:
        return None
    return Named(TopicPartition(match[1], int(match[2])), match[4] if match.re is _ASIDE else "")


def looks_like_partition(folder: Path) -> bool:
    """Whether the folder has a segment or an epoch file; the folder of a broker may also be named `broker-1`."""
    try:
        with os.scandir(folder) as entries:
            return any(e.name.endswith(".log") or e.name == LEADER_EPOCH for e in entries)
    except OSError:
        return False


def read_partition(
    folder: Path, who: Named, broker: int | None, known: Checkpointed, depth: Depth, report: segments.Report
) -> Replica:
    """Returns the readable part of a partition; `report` receives the remarks.

    Checkpoints only cover replicas in service.
    """
    tp = who.tp
    if who.state:
        known = Checkpointed({}, {}, {}, {})
    _report_leftovers(folder, report)
    there = readable(lambda: segments.segments_in(folder), report) or []
    flushed = known.recovery_point.get(tp)
    # Without a recovery point, a broker recovers from offset 0.
    below = flushed or (None if who.state else 0)
    walk = segments.walk(there, report, flushed=below, every=depth.every, crc=depth.crc)
    # After the segments: a running broker writes the epoch to the checkpoint before it appends records.
    checkpoint = _epochs(folder / LEADER_EPOCH, report, wanted=bool(walk.epochs))
    topic_id = with_remarks(lambda: read_topic_id(folder / PARTITION), report) if (folder / PARTITION).exists() else ""
    start = max(known.log_start.get(tp, 0), there[0].base if there else 0)
    end = max(walk.end if walk.end is not None else start, there[-1].base if there else start)
    replica = Replica(
        tp=tp,
        broker=broker,
        directory=shown(folder.parent),
        folder=shown(folder),
        state=who.state,
        topic_id=topic_id or "",
        log_start=start,
        log_end=end,
        high_watermark=known.high_watermark.get(tp),
        recovery_point=flushed,
        cleaned=known.cleaned.get(tp),
        written=tuple(walk.epochs),
        checkpoint=checkpoint,
        segments=len(there),
        walked=walk.walked,
        size=walk.size,
        last_ms=walk.last_ms,
    )
    if not who.state:
        _report_contradictions(replica, folder, report, old=walk.old, empty=not there)
    return replica


def with_remarks(read: Callable[[], tuple[T, list[Oddity]]], report: segments.Report) -> T | None:
    """Returns the result of a reader and reports its remarks; reports a file that cannot be read, and returns None."""
    answer = readable(read, report)
    if answer is None:
        return None
    for oddity in answer[1]:
        report(oddity)
    return answer[0]


def readable(read: Callable[[], T], report: segments.Report) -> T | None:
    try:
        return read()
    except NotReadError as error:
        report(error.oddity)
        return None


def _epochs(path: Path, report: segments.Report, *, wanted: bool) -> tuple[Epoch, ...] | None:
    if not os.path.lexists(path):
        if wanted and path.parent.exists():  # A running broker has not deleted it in the meantime.
            report(Oddity(shown(path), None, "is missing, although the batches have leader epochs"))
        return None
    return with_remarks(lambda: read_epochs(path), report)


def _report_leftovers(folder: Path, report: segments.Report) -> None:
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries)
    except OSError as error:
        report(not_read(folder, error).oddity)
        return
    for name in names:
        suffix = Path(name).suffix
        if suffix in _LEFTOVERS:
            report(Oddity(shown(folder / name), None, _LEFTOVERS[suffix], Grade.NOTE))
        elif not _KNOWN.match(name) and name not in {LEADER_EPOCH, PARTITION}:
            report(Oddity(shown(folder / name), None, "is not a Kafka file", Grade.NOTE))


def _report_contradictions(replica: Replica, folder: Path, report: segments.Report, *, old: bool, empty: bool) -> None:
    if empty:
        report(Oddity(replica.folder, None, "has no segment", Grade.NOTE))
    if old:
        what = "has record formats older than Kafka 0.11, without leader epochs: only log ends are compared"
        report(Oddity(replica.folder, None, what, Grade.NOTE))
    file = shown(folder / LEADER_EPOCH)
    for what in _epoch_contradictions(replica):
        report(Oddity(file, None, what))
    hw, end = replica.high_watermark, replica.log_end
    if hw is not None and hw > end:
        report(Oddity(replica.folder, None, f"high watermark {hw} is above the log end {end}: records are missing"))
    flushed = replica.recovery_point
    if flushed is not None and flushed > end:
        what = f"recovery point {flushed} is above the log end {end}: flushed records are missing"
        report(Oddity(replica.folder, None, what))


def _epoch_contradictions(replica: Replica) -> list[str]:
    """Returns contradictions of checkpoint and batches. Newer epochs without records are normal for a leader."""
    noted = replica.checkpoint
    if noted is None:
        return []
    starts = dict(noted)
    found = []
    ends = (*(e.start for e in replica.written[1:]), replica.log_end)
    for number, (epoch, first) in enumerate(replica.written):
        start = starts.get(epoch)
        if ends[number] <= replica.log_start:
            continue  # Deleted by retention, but still in the file; the checkpoint is updated at once.
        if start is None:
            found.append(f"lacks epoch {epoch}, under which offset {first} was written")
        elif max(first, replica.log_start) < start and number:
            found.append(f"epoch {epoch} starts at offset {start}, but in the batches at {first}")
    if noted and noted[-1].start > replica.log_end:
        epoch, start = noted[-1]
        found.append(
            f"epoch {epoch} starts at offset {start}, but the log ends at {replica.log_end}: records are missing"
        )
    return found[:5]
