"""Recordings of `kfix watch` as material of an incident report: snapshots, remarks of the watch, and gaps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kfix.core.events import Event, Theme, Tone
from kfix.core.recorder.reading import Recording, RingRecord
from kfix.core.wording import ago, several, utc_text
from kfix.incident.model import SourceRow

_TONES: Final = {"lost": Tone.BAD, "back": Tone.GOOD}


class RecordedPeriod:
    """One recording within a period; `records` is read once, then `source` states what it held."""

    def __init__(self, folder: Path, since: float | None, until: float | None) -> None:
        self._recording = Recording(folder)
        self._since, self._until = since, until
        self._snapshots = self._quiet = 0
        self._notes: list[str] = []

    def records(self) -> Iterator[RingRecord]:
        """Yields snapshots and remarks in the order of recording.

        Of equal snapshots in a row it yields only the first and the last: the others add nothing.
        """
        waiting: RingRecord | None = None
        for record in self._recording.records(self._since, self._until):
            # Yields the first snapshot of the period even if it equals the one before it.
            quiet = record.quiet and self._snapshots > 0
            if record.snapshot is not None:
                self._snapshots += 1
                self._quiet += quiet
            elif record.what in {"clock", "paused", "dropped"}:
                self._notes.append(f"{utc_text(record.at)}: {record.text}")
            if waiting is not None and not quiet:
                yield waiting
            waiting = record if quiet else None
            if not quiet:
                yield record
        if waiting is not None:
            yield waiting

    def source(self) -> SourceRow:
        held = self._recording
        content = (
            f"{several(self._snapshots, 'snapshot')} of the period, {self._quiet} of them like the one before; "
            f"{held.snapshots} in {ago(held.until - held.since)}"
        )
        return SourceRow("recorder", held.folder.name, content, (*self._notes, *held.problems))


def event_of(record: RingRecord) -> Event:
    """Returns a remark of the watch as an event of the timeline."""
    text = f"the watch lost the cluster: {record.text}" if record.what == "lost" else record.text
    return Event(record.at, Theme.WATCH, _TONES.get(record.what, Tone.NOTE), text, f"recorder {record.what}")
