"""Findings over all snapshots: first seen, last seen, resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity
from kfix.core.events import Event, SnapshotRow, Theme, Tone
from kfix.core.snapshot.snapshot import Snapshot
from kfix.incident.model import CauseRow
from kfix.incident.timeline.when import name_of, where


@dataclass(slots=True)
class Seen:
    """One finding over all snapshots, with times in seconds since the epoch.

    - first, last: when it was first and last found
    - worst: the most severe occurrence; of equal ones the last
    - snapshots: how many snapshots show it
    - gone: the first snapshot without it after `last`; None if it is still present
    - head: whether at least one snapshot shows it as a cause, not as the consequence of another finding
    - groups: the blocked groups of all snapshots; a snapshot without the log that names them removes none
    """

    first: float
    last: float
    worst: Finding
    snapshots: int = 1
    gone: float | None = None
    head: bool = False
    groups: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Findings:
    """The findings of all snapshots, added in order of time; a finding counts if any vantage point sees it."""

    seen: dict[str, Seen] = field(default_factory=dict)
    snapshots: list[SnapshotRow] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    _last: dict[str, tuple[float, frozenset[str]]] = field(default_factory=dict)

    def add_snapshot(self, snapshot: Snapshot, diagnosis: Diagnosis, vantage: str) -> None:
        at = snapshot.taken_at
        now = {f.key: f for f in diagnosis.walk() if f.severity > Severity.INFO}
        before = self._last.get(vantage)
        heads = {f.key for f in diagnosis.findings}
        for key, finding in now.items():
            self._there(key, finding, at, snapshot, before)
            self.seen[key].head |= key in heads
            self.seen[key].groups.update(finding.blocked.groups)
        if before is not None:
            for key in before[1] - now.keys():
                self._gone(key, at, before[0], snapshot)
        self._last[vantage] = (at, frozenset(now))
        worst = max((f.severity for f in now.values()), default=None)
        word = worst.word if worst is not None else "no findings"
        doubtful = sum(f.unsettled for f in diagnosis.walk())
        row = SnapshotRow(at, name_of(snapshot), vantage, len(now), word, diagnosis.could_not_read, doubtful)
        self.snapshots.append(row)

    def _there(
        self, key: str, finding: Finding, at: float, snapshot: Snapshot, before: tuple[float, frozenset[str]] | None
    ) -> None:
        held = self.seen.get(key)
        if held is None or held.gone is not None:
            again = "seen" if held is None else "seen again"
            text = f"{finding.severity.word} {finding.code} {finding.obj} {again}: {finding.summary}"
            since = None if before is None else before[0]
            self.events.append(Event(at, Theme.FINDING, Tone.BAD, text, where(snapshot), since))
        if held is None:
            self.seen[key] = Seen(at, at, finding)
            return
        held.last, held.snapshots, held.gone = at, held.snapshots + 1, None
        if finding.severity >= held.worst.severity:
            held.worst = finding

    def _gone(self, key: str, at: float, since: float, snapshot: Snapshot) -> None:
        held = self.seen[key]
        if held.gone is None and held.last < at:
            held.gone = at
            text = f"{held.worst.code} {held.worst.obj} is resolved"
            self.events.append(Event(at, Theme.FINDING, Tone.GOOD, text, where(snapshot), since))

    def causes(self) -> tuple[CauseRow, ...]:
        """Returns causes before consequences, the most severe first, then the longest-lasting."""
        rows = sorted(
            self.seen.values(),
            key=lambda s: (not s.head, -s.worst.severity, s.first - s.last, s.first, s.worst.key),
        )
        return tuple(map(_row, rows))

    def clear_from(self, least: Severity) -> tuple[float, float] | None:
        """Returns the times of the last snapshot with a finding of at least this severity, and of the first one after
        it.

        None if there was no such finding, or one is still present.
        """
        grave = [s for s in self.seen.values() if s.worst.severity >= least]
        if not grave or any(s.gone is None for s in grave):
            return None
        last = max(s.last for s in grave)
        after = [snapshot.at for snapshot in self.snapshots if snapshot.at > last]
        return (last, min(after)) if after else None

    def first(self) -> Iterator[Seen]:
        return iter(sorted(self.seen.values(), key=lambda s: s.first))


def _row(seen: Seen) -> CauseRow:
    worst = seen.worst
    return CauseRow(
        code=worst.code,
        obj=worst.obj,
        severity=worst.severity.word,
        summary=worst.summary,
        cause=worst.cause.text,
        confidence=worst.cause.confidence.value,
        first=seen.first,
        last=seen.last,
        gone=seen.gone,
        snapshots=seen.snapshots,
        partitions=worst.partitions,
        groups=tuple(sorted(seen.groups)),
    )
