"""The segments of a partition folder, and what their batches show.

Leader epochs never decrease along a log. A segment whose first batch has the same epoch as the first batch of the next
segment contains only that epoch, and is skipped unless every segment is requested. Segments that a crash may have
damaged, which are the last one and those above the recovery point, are always read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kfix.core.disk.batches import batches, first_batch, good_crc
from kfix.core.disk.model import Epoch, Grade, Oddity, Tail
from kfix.core.disk.opening import DiskFile, NotReadError, not_read
from kfix.core.kafka.batches import Batch
from kfix.core.wording import several

_SEGMENT = re.compile(r"([0-9]{20})\.log\Z")
_CUT = "a broker that starts after a crash truncates its log here"
_MOST_REPORTED = 5
#: A tail with more batches than this has no record count: counting them takes half a minute.
MOST_BATCHES = 20_000_000

Report = Callable[[Oddity], None]


class Segment(NamedTuple):
    base: int
    path: Path


@dataclass(slots=True)
class Walk:
    """The combined result of all segments of a log; `end` is None if no complete batch was found."""

    epochs: list[Epoch] = field(default_factory=list)
    end: int | None = None
    size: int = 0
    walked: int = 0
    last_ms: int | None = None
    old: bool = False

    def see(self, batch: Batch) -> None:
        self.end = batch.last + 1
        if batch.epoch >= 0 and (not self.epochs or batch.epoch > self.epochs[-1].epoch):
            self.epochs.append(Epoch(batch.epoch, batch.base))
        if batch.last_ms >= 0 and (self.last_ms is None or batch.last_ms > self.last_ms):
            self.last_ms = batch.last_ms


def segments_in(folder: Path) -> list[Segment]:
    """Returns the segments by base offset. Raises NotReadError if the folder cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries]
    except OSError as error:
        raise not_read(folder, error) from None
    found = [Segment(int(m[1]), folder / name) for name in names if (m := _SEGMENT.match(name))]
    return sorted(s for s in found if s.base < 1 << 63)


def walk(segments: list[Segment], report: Report, *, flushed: int | None, every: bool, crc: bool) -> Walk:
    """Reads the batches of the segments and reports what is invalid.

    flushed  the recovery point; only segments below it may be skipped, with None all may
    every    whether to read all segments
    crc      whether to check the CRC of every batch, not only of the last batch of each segment
    """
    found = Walk()
    heads = [_head(s) for s in segments] if len(segments) > 1 and not every else [None] * len(segments)
    for number, segment in enumerate(segments):
        head = heads[number]
        flushed_whole = number + 1 < len(segments) and (flushed is None or segments[number + 1].base <= flushed)
        skip = head is not None and flushed_whole and _one_epoch(head, heads[number + 1])
        try:
            with DiskFile(segment.path) as file:
                found.size += file.size
                if skip and head is not None:
                    found.see(head)
                else:
                    _walk_one(file, segment, found, report, crc=crc)
        except NotReadError as error:
            report(error.oddity)
    return found


def _one_epoch(head: Batch, following: Batch | None) -> bool:
    return following is not None and head.epoch == following.epoch >= 0


def _head(segment: Segment) -> Batch | None:
    try:
        with DiskFile(segment.path) as file:
            return first_batch(file)
    except NotReadError:
        return None  # reported when it is read


def _walk_one(file: DiskFile, segment: Segment, found: Walk, report: Report, *, crc: bool) -> None:
    limited = _LimitedReport(file.name, report)
    found.walked += 1
    batch = None
    epoch = found.epochs[-1].epoch if found.epochs else -1
    expected = max(segment.base, found.end or 0)
    for batch in batches(file, limited):
        if batch.base < segment.base:
            limited(batch.at, f"offset {batch.base} in a segment that starts at {segment.base}")
        elif batch.base < expected:
            limited(batch.at, f"offset {batch.base} goes back: it follows offset {expected - 1}")
        if 0 <= batch.epoch < epoch:
            limited(batch.at, f"leader epoch {batch.epoch} follows epoch {epoch}")
        if crc:
            _check_crc(file, batch, limited)
        expected, epoch = batch.last + 1, max(batch.epoch, epoch)
        found.old |= batch.magic < 2
        found.see(batch)
    if batch is not None and not crc:
        _check_crc(file, batch, limited)
    limited.close()


def _check_crc(file: DiskFile, batch: Batch, report: _LimitedReport) -> None:
    good = good_crc(file, batch)
    if good is None:
        report(batch.at, "was truncated while it was read", Grade.NOTE)
    elif not good:
        report(batch.at, f"bad CRC of the batch of offsets {batch.base} to {batch.last}: {_CUT}")


class _LimitedReport:
    """Reports the first remarks about a file, and the number of the others."""

    def __init__(self, name: str, report: Report) -> None:
        self._name, self._report, self._more = name, report, 0
        self._left = _MOST_REPORTED

    def __call__(self, at: int, what: str, grade: Grade = Grade.ODD) -> None:
        if self._left:
            self._left -= 1
            self._report(Oddity(self._name, at, what, grade))
        else:
            self._more += 1

    def close(self) -> None:
        if self._more:
            self._report(Oddity(self._name, None, f"{several(self._more, 'more such place')}"))


def read_tails(folder: Path, points: Iterable[int], start: int, end: int) -> dict[int, Tail]:
    """Returns, for each offset in `points`, what a log from `start` to `end` contains from there on.

    Empty if the folder is gone. The record count is None if a segment is damaged or cannot be read.
    """
    try:
        segments = segments_in(folder)
    except NotReadError:
        return {}
    counts = {point: _Count(max(point, start)) for point in points}
    budget = MOST_BATCHES
    doubts: list[Oddity] = []
    for _, batch in batches_from(segments, min((c.start for c in counts.values()), default=end), doubts.append):
        budget -= 1
        for count in counts.values():
            if batch.last >= count.start:
                count.see(batch, exact=budget > 0)
        if budget <= 0:
            break
    return {point: count.tail(end, exact=not doubts) for point, count in counts.items()}


def batches_from(segments: list[Segment], start: int, doubt: Report) -> Iterator[tuple[DiskFile, Batch]]:
    """Yields the batches from the segment of this offset on, each with its open file.

    `doubt` receives the reasons why some may be missing. An incomplete batch at the very end is not part of the log.
    """
    for number, segment in enumerate(segments):
        last = number + 1 == len(segments)
        if not last and segments[number + 1].base <= start:
            continue
        try:
            with DiskFile(segment.path) as file:
                yield from _with_file(file, _ignore if last else doubt)
        except NotReadError as error:
            doubt(error.oddity)


def _with_file(file: DiskFile, report: Report) -> Iterator[tuple[DiskFile, Batch]]:
    for batch in batches(file, lambda at, what: report(Oddity(file.name, at, what))):
        yield file, batch


def _ignore(_oddity: Oddity) -> None:
    pass


@dataclass(slots=True)
class _Count:
    start: int
    records: int | None = 0
    size: int = 0
    first: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None

    def see(self, batch: Batch, *, exact: bool) -> None:
        if self.records is not None:
            known = batch.records is not None and exact
            self.records = self.records + min(batch.records or 0, batch.last + 1 - self.start) if known else None
        self.size += batch.size
        if self.first is None:
            self.first = max(batch.base, self.start)
            self.first_ms = batch.first_ms if batch.first_ms >= 0 else None
        if batch.last_ms >= 0 and (self.last_ms is None or batch.last_ms > self.last_ms):
            self.last_ms = batch.last_ms

    def tail(self, end: int, *, exact: bool) -> Tail:
        start = self.start if self.first is None else self.first
        return Tail(start, end, self.records if exact else None, self.size, self.first_ms, self.last_ms)
