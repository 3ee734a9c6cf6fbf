"""Writes the ring. After `store` returned True, the snapshot is on disk, and no later failure removes it.

- A record is synced before the call returns. A torn record, left by a kill or a power failure, is cut off when the ring
  is opened, and before the next record is written.
- On a full disk nothing is deleted: recording pauses, and is tried again with the next snapshot. Remarks wait in memory
  with their times, and are written before anything newer.
- Only the oldest segment is deleted, as a whole, and only if newer records would exceed the bound of bytes or hours.
- Hours are hours of recording, by a monotonic clock, so that setting a clock makes no record old.
"""

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kfix.core.errors import UsageError
from kfix.core.recorder.folder import SegmentFiles, lock, prepare, segment_path, segments, sequence_of
from kfix.core.recorder.frames import RecordHead, RecordKind, content, framed, heads, is_torn
from kfix.core.recorder.patches import difference
from kfix.core.saved.files import encode
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.wording import several, size_text

#: The ring has at least this many segments, so that deleting one leaves most of the time.
_SEGMENTS: Final = 16
_SEGMENTS_BY_TIME: Final = 24
#: A segment holds several times the size of a whole snapshot, else differences would not pay; this much is stored
#: between two whole ones, which bounds what a damaged record makes unreadable.
_WHOLES: Final = 4
_SMALLEST: Final = 64 * 1024
#: With a segment of at most a third of the bound, a record of at most a quarter always has room.
_LARGEST_SHARE: Final = 4
#: A clock was set if it differs by more than this from the time that has passed.
CLOCK_STEP: Final = 2.0
#: Remarks that the reader needs: a process starts recording, the clock of its host was set, remarks are missing.
BEGAN: Final = "began"
CLOCK: Final = "clock"
DROPPED: Final = "dropped"
#: Most remarks that wait for space; the oldest beyond that are dropped.
MOST_WAITING: Final = 1000
#: A remark of this many characters fits into the smallest ring.
_LONGEST_REMARK: Final = 10_000


def steady() -> float:
    """Returns seconds by a clock that is never set, and that also runs while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True, slots=True)
class RingBounds:
    """The most that a ring holds: whichever of the two is reached first."""

    size: int = 256_000_000
    hours: float = 48.0


@dataclass(slots=True)
class _Segment:
    path: Path
    size: int
    last: float
    intact: bool = True


@dataclass(frozen=True, slots=True)
class _Remark:
    """`at` is its time, `recorded` the seconds of recording before it; both as in its record."""

    what: str
    text: str
    at: float
    recorded: float


class Recorder:
    """The one writer of a ring; the folder is locked until `close`.

    Raises UsageError if the folder holds anything but a recording, HeldError if another watch records there.
    """

    def __init__(
        self,
        folder: Path,
        bounds: RingBounds,
        *,
        files: SegmentFiles | None = None,
        clock: Callable[[], float] = steady,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self.bounds, self._clock, self._wall = folder, bounds, clock, wall
        self._files = files or SegmentFiles()
        prepare(folder)
        self._lock = lock(folder)
        self._segments: list[_Segment] = []
        self._handle = -1
        self._sequence = 0
        self._recorded = 0.0
        self._first_recorded = 0.0
        self._base: Any = None
        self._base_sequence = 0
        self._whole_size = self._since_whole = 0
        self._before: tuple[float, float] | None = None
        self._waiting: deque[_Remark] = deque()
        self._dropped = 0
        self.cluster = ""
        #: Why nothing is recorded at present; "" while recording works.
        self.paused = ""
        try:
            self._open()
        except OSError as error:
            self.close()
            raise UsageError(f"--recorder {folder}: cannot be read: {(error.strerror or '').lower()}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for handle in (self._handle, self._lock):
            if handle >= 0:
                os.close(handle)
        self._handle = self._lock = -1

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def hours(self) -> float:
        return (self._recorded - self._first_recorded) / 3600 if self._segments else 0.0

    def store(self, snapshot: Snapshot) -> bool:
        """Stores a snapshot and returns True, or returns False and sets `paused`.

        Raises UsageError for a snapshot of another cluster than the ring's.
        """
        known = snapshot.cluster.id
        if self.cluster and known and known != self.cluster:
            raise UsageError(
                f"--recorder {self.folder}: holds a recording of cluster {self.cluster}, this cluster is {known}",
                hint="give each cluster a folder of its own",
            )
        self._note_clock()
        if not self.write_waiting() or not self._store(encode(snapshot)):
            return False
        self.cluster = self.cluster or known
        return True

    def remark(self, what: str, text: str) -> None:
        """Stores a remark, such as that the cluster cannot be reached, or keeps it until there is space."""
        self._note_clock()
        self._keep(what, text)
        self.write_waiting()

    def write_waiting(self) -> bool:
        """Writes the remarks that wait for space, and returns False and sets `paused` if one has to wait longer."""
        while self._waiting:
            first = self._waiting[0]
            if self._dropped:
                text = (
                    f"{several(self._dropped, 'remark')} of the watch {'is' if self._dropped == 1 else 'are'} missing "
                    f"here: at most {MOST_WAITING} wait for space on the disk"
                )
                if not self._write_remark(replace(first, what=DROPPED, text=text)):
                    return False
                self._dropped = 0
            if not self._write_remark(first):
                return False
            self._waiting.popleft()
        return True

    def _keep(self, what: str, text: str) -> None:
        if len(self._waiting) == MOST_WAITING:
            self._waiting.popleft()
            self._dropped += 1
        self._waiting.append(_Remark(what, text[:_LONGEST_REMARK], self._wall(), self._recorded))

    def _write_remark(self, remark: _Remark) -> bool:
        self._roll(remark.recorded)
        held = {"what": remark.what, "text": remark.text}
        return self._append(RecordKind.REMARK, held, remark.at, remark.recorded)

    def _store(self, encoded: dict[str, Any]) -> bool:
        self._roll(self._recorded)
        whole = self._base is None or self._since_whole > _WHOLES * self._whole_size
        kind = RecordKind.WHOLE if whole else RecordKind.DIFFERENCE
        held: dict[str, Any] = {"snapshot": encoded}
        if not whole:
            held = {"of": self._base_sequence, "patch": difference(self._base, encoded) or {}}
        if not self._append(kind, held, self._wall(), self._recorded):
            return False
        self._base, self._base_sequence = encoded, self._sequence
        return True

    def _note_clock(self) -> None:
        """Advances the time of recording, and adds a remark if the clock of the host was set in the meantime."""
        now = self._wall(), self._clock()
        before, self._before = self._before, now
        if before is None:
            # The monotonic clock counts from the start of the machine: another process cannot use its times.
            self._keep(BEGAN, "the watch began to record")
            return
        passed = max(now[1] - before[1], 0.0)
        self._recorded += passed
        step = now[0] - before[0] - passed
        if abs(step) > CLOCK_STEP:
            which = "ahead" if step > 0 else "back"
            self._keep(CLOCK, f"the clock of this host was set {which} by {abs(step):.0f} s")

    def _open(self) -> None:
        found = segments(self.folder)
        for path in found:
            data = path.read_bytes()
            records = [*heads(data)]
            if not records and any(data) and not is_torn(data):
                self._keep_damaged(path, len(data))
                continue
            if not records:  # A kill between creating a file and its first record, or a power failure before its sync.
                self._files.remove(path)
                continue
            end = len(data)
            if path == found[-1] and records[-1].end < end:
                end = records[-1].end
                self._cut_off(path, end)
            self._take(path, end, records, data)
        if self._segments:
            last = self._segments[-1]
            self._recorded = last.last
            if last.intact:
                self._handle = self._files.open(last.path)

    def _keep_damaged(self, path: Path, size: int) -> None:
        """Leaves a file without an intact record as it is, until the bounds delete it; nothing is added to it."""
        before = self._segments[-1].last if self._segments else 0.0
        self._segments.append(_Segment(path, size, before, intact=False))
        self._sequence = max(self._sequence, sequence_of(path))

    def _take(self, path: Path, size: int, records: list[RecordHead], data: bytes) -> None:
        if not self._segments:
            self._first_recorded = records[0].recorded
        self._segments.append(_Segment(path, size, records[-1].recorded))
        self._sequence = max(self._sequence, records[-1].sequence)
        whole = next((r for r in records if r.kind is RecordKind.WHOLE), None)
        if whole is not None:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self.cluster = str(content(data, whole)["snapshot"]["cluster"]["id"]) or self.cluster

    def _cut_off(self, path: Path, size: int) -> None:
        handle = self._files.open(path)
        try:
            self._files.cut(handle, size)
            self._files.sync(handle)
        finally:
            os.close(handle)

    def _roll(self, recorded: float) -> None:
        """Ends the current segment if it is large or old enough for a record of this time, which begins another one.

        An empty segment stays the current one: its first record found no space, and the next one has the same name.
        """
        if self._handle < 0 or not self._segments or not self._segments[-1].size:
            return
        limit = min(max(self.bounds.size // _SEGMENTS, _SMALLEST, _WHOLES * self._whole_size), self.bounds.size // 3)
        current = self._segments[-1]
        began = self._segments[-2].last if len(self._segments) > 1 else self._first_recorded
        if current.size < limit and recorded - began < self.bounds.hours * 3600 / _SEGMENTS_BY_TIME:
            return
        os.close(self._handle)
        self._handle, self._base = -1, None

    def _append(self, kind: RecordKind, held: Any, at: float, recorded: float) -> bool:
        record = framed(kind, self._sequence + 1, at, recorded, held)
        if len(record) > self.bounds.size // _LARGEST_SHARE:
            fits = size_text(self.bounds.size // _LARGEST_SHARE)
            self.paused = f"a record of {size_text(len(record))} is larger than a quarter of the bound ({fits})"
            return False
        try:
            self._make_room(len(record))
            if self._handle < 0:
                self._begin(recorded)
            current = self._segments[-1]
            self._write(current, record)
            current.last = recorded
        except OSError as error:
            self.paused = f"{self.folder}: {(error.strerror or 'cannot be written').lower()}"
            return False
        self._sequence += 1
        self.paused = ""
        self._since_whole += len(record)
        if kind is RecordKind.WHOLE:
            self._whole_size, self._since_whole = len(record), 0
        return True

    def _write(self, current: _Segment, record: bytes) -> None:
        try:
            self._files.write(self._handle, record, current.size)
            self._files.sync(self._handle)
        except OSError:
            with contextlib.suppress(OSError):  # the rest of the record is overwritten, or cut off on opening
                self._files.cut(self._handle, current.size)
            raise
        current.size += len(record)

    def _begin(self, recorded: float) -> None:
        path = segment_path(self.folder, self._sequence + 1)
        self._handle = self._files.create(path)
        self._base = None
        if not self._segments:
            self._first_recorded = recorded
        self._segments.append(_Segment(path, 0, recorded))
        self._files.sync_folder(self.folder)

    def _make_room(self, more: int) -> None:
        """Deletes the oldest segments if the bound of bytes or hours would be exceeded."""
        while len(self._segments) > 1 and (
            self.size + more > self.bounds.size or self._recorded - self._segments[0].last > self.bounds.hours * 3600
        ):
            gone = self._segments[0]
            self._files.remove(gone.path)
            self._segments.pop(0)
            self._first_recorded = gone.last
