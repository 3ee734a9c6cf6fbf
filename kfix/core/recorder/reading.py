"""Reads a ring, even while a watch writes it: its period, and its snapshots in the order of recording.

Times follow the latest setting of the recording host's clock: if the clock was set, earlier times are moved by the same
step, so that all are in their true order.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.recorder.folder import segments
from kfix.core.recorder.frames import RecordHead, RecordKind, content, heads
from kfix.core.recorder.patches import PatchError, patched
from kfix.core.recorder.ring import CLOCK_STEP
from kfix.core.saved.files import parse
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.wording import several, utc_iso

#: Fields that change with every snapshot although the cluster does not.
_RESTLESS: Final = frozenset({"taken_at", "seconds", "sources"})


@dataclass(frozen=True, slots=True)
class RingRecord:
    """One record of the ring: a snapshot, or a remark of the watch.

    `quiet`: a snapshot that shows the cluster exactly as the previous one did. `shift`: the seconds by which its time
    was moved, because the host's clock was set later; ages in the snapshot use the original time.
    """

    at: float
    sequence: int
    snapshot: Snapshot | None = None
    what: str = ""
    text: str = ""
    quiet: bool = False
    shift: float = 0.0


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    head: RecordHead
    shift: float = 0.0

    @property
    def at(self) -> float:
        return self.head.at + self.shift


class Recording:
    """The content of a ring; `problems` are sentences about unreadable parts.

    Raises UsageError if the folder cannot be read or holds no recording.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        paths = segments(folder)
        if not paths:
            raise UsageError(
                f"{folder}: holds no recording", hint="record one: kfix watch --recorder DIR --bootstrap-server ..."
            )
        places = [place for path in paths for place in self._read_heads(path, last=path == paths[-1])]
        self._places = _in_one_clock(places)
        self.problems += _gaps(self._places)
        if not self._places:
            raise UsageError(f"{folder}: holds no intact record")

    @property
    def since(self) -> float:
        return self._places[0].at

    @property
    def until(self) -> float:
        return self._places[-1].at

    @property
    def snapshots(self) -> int:
        return sum(place.head.kind is not RecordKind.REMARK for place in self._places)

    def records(self, since: float | None = None, until: float | None = None) -> Iterator[RingRecord]:
        """Yields the records of a period (seconds since the epoch; None: no limit), oldest first."""
        chosen = [
            place
            for place in self._places
            if (since is None or place.at >= since) and (until is None or place.at <= until)
        ]
        numbers = {place.head.sequence for place in chosen}
        for path in dict.fromkeys(place.path for place in chosen):
            yield from self._of_segment(path, [p for p in self._places if p.path == path], numbers)

    def _of_segment(self, path: Path, places: list[_Place], numbers: set[int]) -> Iterator[RingRecord]:
        data = self._data(path)
        state: Any = None
        known = -1
        last = max((p.head.sequence for p in places if p.head.sequence in numbers), default=-1)
        for place in places:
            head = place.head
            if head.sequence > last:
                break
            try:
                held = content(data, head)
                if head.kind is RecordKind.REMARK:
                    if head.sequence in numbers:
                        yield RingRecord(place.at, head.sequence, None, str(held["what"]), str(held["text"]))
                    continue
                if head.kind is RecordKind.WHOLE:
                    state, quiet = held["snapshot"], False
                elif held["of"] != known:
                    self._problem(path, head, "an earlier record is damaged or missing")
                    continue
                else:
                    state, quiet = patched(state, held["patch"]), _is_quiet(held["patch"])
            except (ValueError, KeyError, TypeError, PatchError) as error:
                self._problem(path, head, str(error))
                continue
            known = head.sequence
            if head.sequence in numbers and (snapshot := self._snapshot(path, place, state)) is not None:
                yield RingRecord(snapshot.taken_at, head.sequence, snapshot, quiet=quiet, shift=place.shift)

    def _snapshot(self, path: Path, place: _Place, state: Any) -> Snapshot | None:
        # The same checks as for a snapshot file: a ring may have been copied from anywhere.
        name = Path(f"{path.name} record {place.head.sequence}")
        try:
            found = parse(json.dumps(state), name)
        except UsageError as error:
            self.problems.append(str(error))
            return None
        at = found.taken_at + place.shift
        return replace(found, taken_at=at, origin=f"recorder {utc_iso(at)}")

    def _read_heads(self, path: Path, *, last: bool) -> Iterator[_Place]:
        data = self._data(path)
        end = 0
        for head in heads(data):
            if head.offset > end:
                self.problems.append(
                    f"{path.name}: {several(head.offset - end, 'byte')} at {end} are not an intact record"
                )
            end = head.end
            yield _Place(path, head)
        # The part after the last record is being written, or was when the watch was killed.
        if not last and end < len(data):
            self.problems.append(f"{path.name}: {several(len(data) - end, 'byte')} at {end} are not an intact record")

    def _data(self, path: Path) -> bytes:
        try:
            return read_file(path)
        except FileNotFoundError:  # The watch has deleted it in the meantime, because its ring was full.
            return b""
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from None

    def _problem(self, path: Path, head: RecordHead, why: str) -> None:
        self.problems.append(f"{path.name}: record {head.sequence} cannot be read: {why[:100]}")


def _is_quiet(patch: Any) -> bool:
    if not isinstance(patch, dict) or not patch.keys() <= _RESTLESS:
        return False
    sources = patch.get("sources", {})
    return isinstance(sources, dict) and all(isinstance(p, dict) and p.keys() <= {"seconds"} for p in sources.values())


def _gaps(places: list[_Place]) -> Iterator[str]:
    """Yields a sentence for each place at which records are missing."""
    for before, after in pairwise(places):
        missing = after.head.sequence - before.head.sequence - 1
        if missing > 0:
            what = "record is" if missing == 1 else "records are"
            yield f"{missing} {what} lost after record {before.head.sequence} ({utc_iso(before.at)})"


def _in_one_clock(places: list[_Place]) -> list[_Place]:
    """Moves the times before each step of the clock by that step."""
    ordered = sorted(places, key=lambda place: place.head.sequence)
    shift, made = 0.0, ordered[-1:]
    for after, before in pairwise(reversed(ordered)):
        shift += _step(before.head, after.head)
        made.append(replace(before, shift=shift))
    return made[::-1]


def _step(before: RecordHead, after: RecordHead) -> float:
    """Returns by how many seconds the clock was set between two records; across a pause only if it was set back."""
    passed = after.recorded - before.recorded
    step = after.at - before.at - passed
    if passed > 0:
        return step if abs(step) > CLOCK_STEP else 0.0
    return min(after.at - before.at, 0.0)
