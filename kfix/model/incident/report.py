"""The post-mortem as one object: every output is made of it and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.incident.timeline import Lane, SnapshotRow, Span, Theme, Tone


class Certainty(StrEnum):
    PROVEN = "proven"
    AT_MOST = "at most"
    UNKNOWN = "unknown"
    NONE_SEEN = "none seen"


@dataclass(frozen=True, slots=True)
class Moment:
    """No later than `at`, after `not_before` (None: exactly `at`); seconds since the epoch. `why`: how it is known."""

    at: float
    why: str
    not_before: float | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of the table: equal events of `partitions`, told by `sources`. Times as in `timeline.Event`."""

    at: float
    until: float
    theme: Theme
    tone: Tone
    text: str
    sources: tuple[str, ...]
    not_before: float | None = None
    partitions: tuple[TopicPartition, ...] = ()
    broker: int | None = None


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A finding of the catalogue over the looks: `first` and `last` seen; `gone` is the first look without it after."""

    code: str
    obj: str
    severity: str
    summary: str
    cause: str
    confidence: str
    first: float
    last: float
    gone: float | None
    looks: int
    partitions: tuple[TopicPartition, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run of a runbook: who did what, who said yes to it, how it ended. `ended` None: killed, or going on.

    `stakes`: of each change that was sent, what its plan said may be lost at worst, and whether that is a number;
    "none ..." is left out.
    """

    id: str
    runbook: str
    finding: str
    title: str
    who: str
    began: float
    ended: float | None
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
    """What the report was made of: a look, a journal, a log; `told` says what it held, `trouble` what it could not."""

    kind: str
    name: str
    told: str
    trouble: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """None: it cannot be told. `served`: nothing critical any more. `whole`: nothing that is a warning any more."""

    verdict: str
    began: Moment | None
    noticed: Moment | None
    served: Moment | None
    whole: Moment | None
    partitions: tuple[TopicPartition, ...]
    groups: tuple[str, ...]
    others_unknown: bool
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leaderless:
    """Partitions that were without a leader at some time; the longest in seconds; `proved`: solid in the picture."""

    partitions: tuple[TopicPartition, ...] = ()
    longest: float = 0.0
    proved: bool = True


@dataclass(frozen=True, slots=True)
class Picture:
    """Lanes over `begin` to `end`. `hidden`: histories, and their partitions, that are left out of the picture."""

    begin: float
    end: float
    controller: Lane | None
    brokers: tuple[Lane, ...]
    partitions: tuple[Lane, ...]
    runs: tuple[Span, ...]
    hidden: tuple[int, int] = (0, 0)
    unchanged: int = 0
    leaderless: Leaderless = Leaderless()


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """`events` are all of them; outputs that show fewer say so. `log_zone` is "" where no log was read."""

    title: str
    cluster: str
    mode: str
    kfix: str
    since: float
    until: float
    summary: Summary
    causes: tuple[CauseRow, ...]
    runs: tuple[RunRow, ...]
    losses: tuple[LossRow, ...]
    picture: Picture
    events: tuple[EventRow, ...]
    questions: tuple[str, ...]
    looks: tuple[SnapshotRow, ...]
    sources: tuple[SourceRow, ...]
    log_zone: str = ""
