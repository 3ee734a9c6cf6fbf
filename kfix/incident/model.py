"""The post-mortem as one object: every output is rendered from it and from nothing else."""

from dataclasses import dataclass
from enum import StrEnum

from kfix.core.declared import Seconds
from kfix.core.events import Lane, SnapshotRow, Span, Theme, Tone
from kfix.core.snapshot.snapshot import TopicPartition


class Certainty(StrEnum):
    PROVEN = "proven"
    AT_MOST = "at most"
    UNKNOWN = "unknown"
    NONE_SEEN = "none seen"


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: exactly `at`, or after `not_before` and up to `at`. `why`: its basis."""

    at: Seconds
    why: str
    not_before: Seconds | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of the timeline: equal events of `partitions`, reported by `sources`.

    Times are as in `timeline.Event`.
    """

    at: Seconds
    until: Seconds
    theme: Theme
    tone: Tone
    text: str
    sources: tuple[str, ...]
    not_before: Seconds | None = None
    partitions: tuple[TopicPartition, ...] = ()
    broker: int | None = None


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A finding over all snapshots. `gone` is the time of the first snapshot without it, None if there is none."""

    code: str
    obj: str
    severity: str
    summary: str
    cause: str
    confidence: str
    first: Seconds
    last: Seconds
    gone: Seconds | None
    snapshots: int
    partitions: tuple[TopicPartition, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run of a runbook: who ran it, what changed, who approved it, how it ended.

    `ended` is None if it was killed or is still running. `stakes` has, for each change that was sent, the worst loss
    that its plan states, and whether that is a number; changes without a possible loss are left out.
    """

    id: str
    runbook: str
    finding: str
    title: str
    who: str
    began: Seconds
    ended: Seconds | None
    outcome: str
    exit: int | None
    approvals: tuple[str, ...]
    changed: tuple[str, ...]
    proof: str
    notes: tuple[str, ...] = ()
    stakes: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class LossRow:
    certainty: Certainty
    text: str
    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceRow:
    """An input of the report: a snapshot, a journal or a log. `problems` lists what could not be read."""

    kind: str
    name: str
    content: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """The key moments; None if unknown.

    `restored` is the end of the last critical finding, `recovered` the end of the last warning.
    """

    verdict: str
    began: Moment | None
    noticed: Moment | None
    restored: Moment | None
    recovered: Moment | None
    partitions: tuple[TopicPartition, ...]
    groups: tuple[str, ...]
    others_unknown: bool
    brokers: tuple[int, ...]

    @property
    def moments(self) -> tuple[tuple[str, Moment | None], ...]:
        """Returns the key moments by name, in order of time; the end of critical findings only if there were any."""
        restored = () if self.restored is None else (("Service restored", self.restored),)
        return ("Began", self.began), ("Detected", self.noticed), *restored, ("Fully recovered", self.recovered)


@dataclass(frozen=True, slots=True)
class Leaderless:
    """Partitions that had no leader at some time; `longest` in seconds; `proved` is False if a part is not proved."""

    partitions: tuple[TopicPartition, ...] = ()
    longest: float = 0.0
    proved: bool = True


@dataclass(frozen=True, slots=True)
class Picture:
    """Lanes from `begin` to `end`. `hidden` counts the histories that are not drawn, and their partitions."""

    begin: Seconds
    end: Seconds
    controller: Lane | None
    brokers: tuple[Lane, ...]
    partitions: tuple[Lane, ...]
    runs: tuple[Span, ...]
    hidden: tuple[int, int] = (0, 0)
    unchanged: int = 0
    leaderless: Leaderless = Leaderless()


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """The whole report. `events` is complete; outputs that show fewer state so. `log_zone` is "" if no log was read."""

    title: str
    cluster: str
    mode: str
    kfix: str
    since: Seconds
    until: Seconds
    summary: Summary
    causes: tuple[CauseRow, ...]
    runs: tuple[RunRow, ...]
    losses: tuple[LossRow, ...]
    picture: Picture
    events: tuple[EventRow, ...]
    questions: tuple[str, ...]
    snapshots: tuple[SnapshotRow, ...]
    sources: tuple[SourceRow, ...]
    log_zone: str = ""
