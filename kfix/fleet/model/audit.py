"""The result of an audit run: one row per finding, one row per cluster, and the report that every output renders.

The store keeps these rows (`kfix.fleet.store.audits`): their fields are its columns, in this order. New fields are
added at the end; a field is never renamed and never changes its type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from math import floor
from typing import Annotated, Any, Final

from kfix.core.declared import OrNull, Seconds, Unit
from kfix.core.inventory.model import Criticality
from kfix.fleet.model.answers import ShownAnswer
from kfix.fleet.model.history import AuditHistory
from kfix.fleet.model.scenarios import ClusterScenarios, Partitions, ScenarioRow, matrix_of

Findings = Annotated[int, Unit("findings")]


class Status(StrEnum):
    """The state of a finding compared with the previous audit of its cluster."""

    NEW = "new"
    STILL = "still"
    WORSE = "worse"  # the severity rose, or it has half as many partitions again as when it was called new or worse
    FIXED = "fixed"  # the previous audit reported it, the cluster was read again, and it is gone
    UNKNOWN = "unknown"  # the previous audit reported it, and the cluster or a source of it could not be read


#: The statuses of findings that are present today, or may be.
OPEN = (Status.NEW, Status.STILL, Status.WORSE, Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding of one cluster; `cluster` and `key` identify it within a run.

    `document` is without the findings that are folded into it. A finding is news if it is neither muted nor in a
    maintenance window.
    """

    cluster: Annotated[str, "the cluster's name in the inventory"]
    key: Annotated[str, "the finding, the same in every audit: CODE:object"]
    code: Annotated[str, "the check: kfix explain CODE"]
    object: Annotated[str, "what it is about, such as a partition or brokers"]
    severity: Annotated[str, "info, warning or critical"]
    rank: Annotated[int, "the severity as a number: 0, 1 or 2"]
    status: Annotated[str, "new, worse, still, fixed or unknown, compared with the previous audit of the cluster"]
    since: Annotated[date, "the first day of the unbroken series of audits that report it", Unit("UTC date")]
    days: Annotated[int, "its age: 0 for a finding that is first seen today", Unit("days")]
    summary: Annotated[str, "what is wrong, in one sentence"]
    cause: Annotated[str, "the cause"]
    confidence: Annotated[str, "how certain the cause is"]
    head: Annotated[str, "the key of the finding that explains it, empty for a head"]
    prevention: Annotated[bool, "a latent risk"]
    unsettled: Annotated[bool, "it may be a state of transition"]
    n_partitions: Annotated[Partitions, "partitions that it is about"]
    partitions: Annotated[tuple[str, ...], "those partitions, `topic-number`"]
    blocked_groups: Annotated[tuple[str, ...], "the consumer groups that it blocks"]
    remedy: Annotated[str, "what to do"]
    command: Annotated[str, "the command that does it, empty where a person must act"]
    runbook: Annotated[str, "the runbook that does it, empty if there is none"]
    muted: Annotated[bool, "a mute of the inventory covers it"]
    mute_reason: Annotated[str, "the reason of that mute"]
    document: Annotated[str, "the finding as in kfix diagnose --json, JSON"]
    reported: Annotated[bool, "an audit has reported it as news"]
    baseline: Annotated[
        Partitions, "its partitions when it was last called new or worse; worse is more than half again"
    ] = 0


#: Points that an open head takes off the score of its cluster, by rank; a latent risk, and one that is worse.
_POINTS: Final = (0, 10, 40)
_LATENT: Final = 2
_WORSE: Final = 5
POINTS_IN_WORDS: Final = (
    f"{_POINTS[2]} points if it is critical, {_POINTS[1]} for a warning, {_LATENT} for a latent risk, none for an "
    f"info, and {_WORSE} more if it got worse"
)


def points_of(row: FindingRow) -> int:
    """Returns the points that a head takes off the score of its cluster: 0 if it is muted or fixed."""
    if row.muted or row.status == Status.FIXED:
        return 0
    points = _LATENT if row.prevention and row.rank == 1 else _POINTS[row.rank]
    return points + _WORSE * (row.status == Status.WORSE)


#: The score of what was not read.
UNKNOWN_SCORE: Final = -1.0


def score_of(points: float) -> float:
    """Returns 100 without points, 50 with 100 points, 10 with 900. It falls with each point and is never 0."""
    return 10_000 / (100 + points)


def fleet_score(points: Sequence[int]) -> float:
    """Returns the score for the mean of the points of clusters, rounded down to a hundredth, so that 100 has none."""
    return score_of_mean(sum(points), len(points))


def score_of_mean(points: float, clusters: int) -> float:
    """Returns the same for the sum of the points; UNKNOWN_SCORE for no cluster."""
    return floor(100 * score_of(points / clusters)) / 100 if clusters else UNKNOWN_SCORE


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster's score card. A folded finding is part of its head."""

    cluster: Annotated[str, "the cluster's name in the inventory"]
    owner: Annotated[str, "its owner in the inventory"]
    tags: Annotated[tuple[str, ...], "its tags in the inventory"]
    criticality: Annotated[str, "low, normal, high or critical"]
    collected: Annotated[bool, "it was read and judged"]
    why: Annotated[str, "why not"]
    maintenance: Annotated[str, "the maintenance window it was in, empty if none"]
    taken_at: Annotated[OrNull[Seconds], "when the snapshot was taken", Unit("s since the epoch")]
    partitions: Annotated[Partitions, "partitions"]
    topics: Annotated[int, "topics", Unit("topics")]
    brokers: Annotated[int, "registered brokers", Unit("brokers")]
    score: Annotated[OrNull[int], "10000 / (100 + the points of its open heads), rounded down", Unit("points")]
    risk: Annotated[int, "the points times the criticality: the highest comes first", Unit("points")]
    critical: Annotated[Findings, "open critical heads that are not muted"]
    warning: Annotated[Findings, "open warnings that are not muted"]
    info: Annotated[Findings, "open infos that are not muted"]
    new: Annotated[Findings, "of them new"]
    worse: Annotated[Findings, "of them worse"]
    still: Annotated[Findings, "of them reported before"]
    fixed: Annotated[Findings, "heads of the previous audit that are gone"]
    muted: Annotated[Findings, "open heads that are muted"]
    seconds: Annotated[float, "how long reading the cluster took", Unit("s")]

    @property
    def points(self) -> int:
        """The points of a cluster that was read."""
        return self.risk // Criticality.of(self.criticality)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One earlier audit, at most one per day."""

    day: date
    run: str
    clusters: int
    collected: int
    score: Annotated[OrNull[float], "the fleet's score over the clusters that were read"]
    critical: int
    warning: int
    new: int
    fixed: int


@dataclass(frozen=True, slots=True)
class ClusterTrend:
    """The `scores` of one cluster by day, oldest first; -1 on days on which it was not collected."""

    cluster: str
    days: tuple[date, ...]
    scores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Offender:
    """A check that clusters fail, with the number of clusters, unmuted open findings and partitions."""

    code: str
    clusters: int
    findings: int
    partitions: int
    worst: str


@dataclass(frozen=True, slots=True)
class CheckTitle:
    """The slug and the one-line title of a check; `prevention` is true for a check of latent risks."""

    code: str
    slug: str
    title: str
    prevention: bool


@dataclass(frozen=True, slots=True)
class MuteSeen:
    """A mute of the inventory and the number of findings of this run that it covers. An expired mute covers none."""

    clusters: str
    findings: str
    reason: str
    by: str
    until: date
    expired: bool
    covers: int


@dataclass(frozen=True)
class AuditReport:
    """One complete audit.

    `previous_run` is the run that it was compared with, "" for the first audit. `clusters` are sorted by risk, those
    of unknown state first. `findings` are sorted by cluster, severity and key, and include the fixed ones. `trend` is
    sorted oldest first and ends with this audit. `manifest` is the stored `audit.json`: inputs, versions, rows,
    durations, unread sources. `damaged` names the earlier audits that cannot be read, one line each. `passed` are
    findings that began after the last delivery of a channel and were gone before this audit. `history` is what the
    audits up to this one show together. `scenarios` are the failures that were judged, worst first; empty for an audit
    that judged none. `answers` are those of the fleet's questions that have rows; only a page has them.
    """

    day: date
    run: str
    previous_run: str
    previous_day: date | None
    store: str
    kfix: str
    engine: str
    clusters: tuple[ClusterRow, ...]
    findings: tuple[FindingRow, ...]
    trend: tuple[TrendPoint, ...]
    cluster_trends: tuple[ClusterTrend, ...]
    offenders: tuple[Offender, ...]
    checks: tuple[CheckTitle, ...]
    mutes: tuple[MuteSeen, ...] = ()
    could_not_read: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    passed: tuple[FindingRow, ...] = ()
    history: AuditHistory = field(default_factory=AuditHistory)
    scenarios: tuple[ScenarioRow, ...] = ()
    answers: tuple[ShownAnswer, ...] = ()

    @property
    def scenario_matrix(self) -> tuple[ClusterScenarios, ...]:
        """Returns the worst scenarios of each cluster, in the order of `clusters`."""
        return matrix_of((c.cluster for c in self.clusters), self.scenarios)

    @property
    def open(self) -> tuple[FindingRow, ...]:
        """Returns the findings that are open and not muted."""
        return tuple(f for f in self.findings if f.status in OPEN and not f.muted)
