"""The segments of one partition's folder: which there are, and what a walk over their batches tells.

Leader epochs never fall along a log. So a segment whose first batch has the same epoch as the first batch of the next
holds that epoch alone, and is skipped unless every segment is asked for: what can be torn after a crash are the last
ones, and those behind the recovery point, and these are always walked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kfix.adapters.disk.batches import Batch, batches, first_batch, good_crc
from kfix.adapters.disk.opening import DiskFile, NotReadError, not_read
from kfix.model.disk import Epoch, Grade, Oddity, Tail

_SEGMENT = re.compile(r"([0-9]{20})\.log\Z")
_CUT = "a broker that starts after a crash cuts its log here"
_MOST_TOLD = 5
#: A tail of more batches than this is measured by offsets and bytes alone: half a minute of work.
MOST_BATCHES = 20_000_000

Tell = Callable[[Oddity], None]


class Segment(NamedTuple):
    base: int
    path: Path


@dataclass(slots=True)
class Walk:
    """What the segments of a log say together; `end` is None where no whole batch was found."""

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
    """By base offset. NotReadError where the folder cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries]
    except OSError as error:
        raise not_read(folder, error) from None
    found = [Segment(int(m[1]), folder / name) for name in names if (m := _SEGMENT.match(name))]
    return sorted(s for s in found if s.base < 1 << 63)


def walk(segments: list[Segment], tell: Tell, *, flushed: int | None, every: bool, crc: bool) -> Walk:
    """`flushed` is the recovery point: whole segments below it may be skipped; None: all may. `crc`: of every walked
    batch; without it the last batch of each walked segment is checked, for that is where a crash leaves its mark.
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
                    _walk_one(file, segment, found, tell, crc=crc)
        except NotReadError as error:
            tell(error.oddity)
    return found


def _one_epoch(head: Batch, following: Batch | None) -> bool:
    return following is not None and head.epoch == following.epoch >= 0


def _head(segment: Segment) -> Batch | None:
    try:
        with DiskFile(segment.path) as file:
            return first_batch(file)
    except NotReadError:
        return None  # told when it is walked


def _walk_one(file: DiskFile, segment: Segment, found: Walk, tell: Tell, *, crc: bool) -> None:
    teller = _Teller(file.name, tell)
    found.walked += 1
    batch = None
    epoch = found.epochs[-1].epoch if found.epochs else -1
    expected = max(segment.base, found.end or 0)
    for batch in batches(file, teller):
        if batch.base < segment.base:
            teller(batch.at, f"offset {batch.base} in a segment that begins at {segment.base}")
        elif batch.base < expected:
            teller(batch.at, f"offset {batch.base} goes backward: {expected - 1} stands before it")
        if 0 <= batch.epoch < epoch:
            teller(batch.at, f"leader epoch {batch.epoch} stands after {epoch}")
        if crc:
            _check_crc(file, batch, teller)
        expected, epoch = batch.last + 1, max(batch.epoch, epoch)
        found.old |= batch.magic < 2
        found.see(batch)
    if batch is not None and not crc:
        _check_crc(file, batch, teller)
    teller.close()


def _check_crc(file: DiskFile, batch: Batch, told: _Teller) -> None:
    good = good_crc(file, batch)
    if good is None:
        told(batch.at, "was cut while it was read", Grade.NOTE)
    elif not good:
        told(batch.at, f"bad CRC of the batch of the offsets {batch.base} to {batch.last}: {_CUT}")


class _Teller:
    """The first few remarks of a file, and how many more there are."""

    def __init__(self, name: str, tell: Tell) -> None:
        self._name, self._tell, self._more = name, tell, 0
        self._left = _MOST_TOLD

    def __call__(self, at: int, what: str, grade: Grade = Grade.ODD) -> None:
        if self._left:
            self._left -= 1
            self._tell(Oddity(self._name, at, what, grade))
        else:
            self._more += 1

    def close(self) -> None:
        if self._more:
            self._tell(Oddity(self._name, None, f"{self._more} more such places"))


def read_tails(folder: Path, points: Iterable[int], start: int, end: int) -> dict[int, Tail]:
    """For each offset: what a log from `start` to `end` holds from it on, in one walk. Empty where the folder is gone.

    Where a segment is damaged before its end, or cannot be read, nobody can tell how many records there are.
    """
    try:
        segments = segments_in(folder)
    except NotReadError:
        return {}
    counts = {point: _Count(max(point, start)) for point in points}
    budget = MOST_BATCHES
    guessed: list[Oddity] = []
    for _, batch in batches_from(segments, min((c.start for c in counts.values()), default=end), guessed.append):
        budget -= 1
        for count in counts.values():
            if batch.last >= count.start:
                count.see(batch, exact=budget > 0)
        if budget <= 0:
            break
    return {point: count.tail(end, exact=not guessed) for point, count in counts.items()}


def batches_from(segments: list[Segment], start: int, guess: Tell) -> Iterator[tuple[DiskFile, Batch]]:
    """Batches of the segments that may hold the offset, or come behind it, each with its open file.

    `guess` hears why some may be missing. What is torn at the very end is no part of the log.
    """
    for number, segment in enumerate(segments):
        last = number + 1 == len(segments)
        if not last and segments[number + 1].base <= start:
            continue
        try:
            with DiskFile(segment.path) as file:
                yield from _with_file(file, _unheard if last else guess)
        except NotReadError as error:
            guess(error.oddity)


def _with_file(file: DiskFile, tell: Tell) -> Iterator[tuple[DiskFile, Batch]]:
    for batch in batches(file, lambda at, what: tell(Oddity(file.name, at, what))):
        yield file, batch


def _unheard(_oddity: Oddity) -> None:
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
