"""One partition's folder: its segments, its epochs, and what else lies in it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from kfix.adapters.disk import segments
from kfix.adapters.disk.checkpoints import LEADER_EPOCH, read_epochs
from kfix.adapters.disk.opening import NotReadError, not_read, shown
from kfix.adapters.disk.properties import PARTITION, read_topic_id
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.disk import Epoch, Grade, Oddity, Replica

_NAME = re.compile(r"([A-Za-z0-9._-]{1,249})-([0-9]{1,10})\Z")
_ASIDE = re.compile(r"([A-Za-z0-9._-]{1,249})-([0-9]{1,10})\.([A-Za-z0-9_-]{1,40})-(delete|future|stray)\Z")
_KNOWN = re.compile(r"[0-9]{20}\.(log|index|timeindex|txnindex|snapshot)\Z|.*\.checkpoint\Z|quorum-state\Z")
_LEFT_OVERS = {
    ".deleted": "left to be deleted: a broker deletes it a minute after the segment went, or at its next start",
    ".cleaned": "left by a log cleaner that did not finish: a broker deletes it at its next start",
    ".swap": "left by a log cleaner that had finished it: a broker puts it in place at its next start",
    ".tmp": "left by a write that did not finish: nothing reads it",
}

T = TypeVar("T")


class Named(NamedTuple):
    tp: TopicPartition
    state: str


@dataclass(frozen=True, slots=True)
class Depth:
    """`every`: no segment is skipped. `crc`: of all walked batches, not only of the last."""

    every: bool = False
    crc: bool = False


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """What the log directory's checkpoints say of all its partitions."""

    high_watermark: Mapping[TopicPartition, int]
    recovery_point: Mapping[TopicPartition, int]
    log_start: Mapping[TopicPartition, int]
    cleaned: Mapping[TopicPartition, int]


def named(name: str) -> Named | None:
    """The partition that a folder of this name holds, and "" or delete, future, stray. None: no partition's folder."""
    match = _ASIDE.match(name) or _NAME.match(name)
    if match is None or int(match[2]) >= 1 << 31:
        return None
    return Named(TopicPartition(match[1], int(match[2])), match[4] if match.re is _ASIDE else "")


def looks_like_partition(folder: Path) -> bool:
    """Holds a segment or an epoch file; a broker's own folder may be called `broker-1` too."""
    try:
        with os.scandir(folder) as entries:
            return any(e.name.endswith(".log") or e.name == LEADER_EPOCH for e in entries)
    except OSError:
        return False


def read_partition(
    folder: Path, who: Named, broker: int | None, known: Checkpointed, depth: Depth, tell: segments.Tell
) -> Replica:
    """Whatever can be read of it. `tell` hears the rest. The checkpoints tell of replicas in service alone."""
    tp = who.tp
    if who.state:
        known = Checkpointed({}, {}, {}, {})
    _tell_left_overs(folder, tell)
    there = kept(lambda: segments.segments_in(folder), tell) or []
    flushed = known.recovery_point.get(tp)
    # A broker that finds no recovery point begins at 0.
    below = flushed or (None if who.state else 0)
    walk = segments.walk(there, tell, flushed=below, every=depth.every, crc=depth.crc)
    # After the segments: a running broker notes an epoch before it appends under it.
    checkpoint = _epochs(folder / LEADER_EPOCH, tell, wanted=bool(walk.epochs))
    topic_id = said(lambda: read_topic_id(folder / PARTITION), tell) if (folder / PARTITION).exists() else ""
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
        _tell_contradictions(replica, folder, tell, old=walk.old, empty=not there)
    return replica


def said(read: Callable[[], tuple[T, list[Oddity]]], tell: segments.Tell) -> T | None:
    """What a reader gives, its remarks told; None where the file cannot be read, which is told too."""
    answer = kept(read, tell)
    if answer is None:
        return None
    for oddity in answer[1]:
        tell(oddity)
    return answer[0]


def kept(read: Callable[[], T], tell: segments.Tell) -> T | None:
    try:
        return read()
    except NotReadError as error:
        tell(error.oddity)
        return None


def _epochs(path: Path, tell: segments.Tell, *, wanted: bool) -> tuple[Epoch, ...] | None:
    if not os.path.lexists(path):
        if wanted and path.parent.exists():  # not deleted by a running broker meanwhile
            tell(Oddity(shown(path), None, "is missing, though the batches carry leader epochs"))
        return None
    return said(lambda: read_epochs(path), tell)


def _tell_left_overs(folder: Path, tell: segments.Tell) -> None:
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries)
    except OSError as error:
        tell(not_read(folder, error).oddity)
        return
    for name in names:
        suffix = Path(name).suffix
        if suffix in _LEFT_OVERS:
            tell(Oddity(shown(folder / name), None, _LEFT_OVERS[suffix], Grade.NOTE))
        elif not _KNOWN.match(name) and name not in {LEADER_EPOCH, PARTITION}:
            tell(Oddity(shown(folder / name), None, "is no file of Kafka's", Grade.NOTE))


def _tell_contradictions(replica: Replica, folder: Path, tell: segments.Tell, *, old: bool, empty: bool) -> None:
    if empty:
        tell(Oddity(replica.folder, None, "holds no segment", Grade.NOTE))
    if old:
        what = "has record formats older than Kafka 0.11, which carry no leader epochs: ends alone are compared there"
        tell(Oddity(replica.folder, None, what, Grade.NOTE))
    file = shown(folder / LEADER_EPOCH)
    for what in _epoch_contradictions(replica):
        tell(Oddity(file, None, what))
    hw, end = replica.high_watermark, replica.log_end
    if hw is not None and hw > end:
        tell(Oddity(replica.folder, None, f"high watermark {hw} is above the log end {end}: records are missing here"))
    flushed = replica.recovery_point
    if flushed is not None and flushed > end:
        what = f"recovery point {flushed} is above the log end {end}: flushed records are missing here"
        tell(Oddity(replica.folder, None, what))


def _epoch_contradictions(replica: Replica) -> list[str]:
    """Where checkpoint and batches do not agree. Newer epochs without records are usual: their broker led."""
    noted = replica.checkpoint
    if noted is None:
        return []
    starts = dict(noted)
    found = []
    ends = (*(e.start for e in replica.written[1:]), replica.log_end)
    for number, (epoch, first) in enumerate(replica.written):
        start = starts.get(epoch)
        if ends[number] <= replica.log_start:
            continue  # deleted by retention, though still in the file: the checkpoint forgets at once
        if start is None:
            found.append(f"does not know epoch {epoch}, under which offset {first} was written")
        elif max(first, replica.log_start) < start and number:
            found.append(f"epoch {epoch} from offset {start} on, but the batches carry it from {first}")
    if noted and noted[-1].start > replica.log_end:
        epoch, start = noted[-1]
        found.append(
            f"epoch {epoch} from offset {start} on, but the log ends at {replica.log_end}: records are missing"
        )
    return found[:5]
