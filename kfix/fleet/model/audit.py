"""The result of an audit run: one row per finding, one row per cluster, and the report that every output renders.

The store keeps these rows (`kfix.fleet.store.audits`): their fields are its columns, in this order. New fields are
added at the end; a field is never renamed and never changes its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Final

from kfix.fleet.model.history import AuditHistory
from kfix.fleet.model.scenarios import ClusterScenarios, ScenarioRow, matrix_of


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
    """One finding of one cluster.

    `key` is stable over audit runs; together with `cluster` it identifies the row within a run. `rank` is the severity
    as a number (0 info, 1 warning, 2 critical). `head` is the key of the finding that explains this one, "" for a head.
    `since` is the first day of the unbroken series of audits that report it, `days` the number of days since then
    (0: today). `partitions` are "topic-number". `command` is the remedy's command line, `remedy` its text where a
    person has to act. `document` is the finding as JSON, as in `kfix diagnose --json`, without the findings folded
    into it. `reported` is true once an audit run has reported the finding as news, that is, neither muted nor in a
    maintenance window. `baseline` is the number of partitions that it had when it was last called new or worse.
    """

    cluster: str
    key: str
    code: str
    object: str
    severity: str
    rank: int
    status: str
    since: date
    days: int
    summary: str
    cause: str
    confidence: str
    head: str
    prevention: bool
    unsettled: bool
    n_partitions: int
    partitions: tuple[str, ...]
    blocked_groups: tuple[str, ...]
    remedy: str
    command: str
    runbook: str
    muted: bool
    mute_reason: str
    document: str
    reported: bool
    baseline: int = 0


#: Points that an open head takes off the score of its cluster, by rank; a latent risk, and one that is worse.
_POINTS: Final = (0, 10, 40)
_LATENT: Final = 2
_WORSE: Final = 5


def points_of(row: FindingRow) -> int:
    """Returns the points that a head takes off the score of its cluster: 0 if it is muted or fixed."""
    if row.muted or row.status == Status.FIXED:
        return 0
    points = _LATENT if row.prevention and row.rank == 1 else _POINTS[row.rank]
    return points + _WORSE * (row.status == Status.WORSE)


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster's score card.

    The counts are of heads that are open and not muted; a folded finding is part of its head. `score` is 100 (no
    finding) to 0, -1 if the cluster was not collected. `risk` sorts the clusters: the points missing from the score,
    multiplied by the criticality; the highest comes first. `why` is the reason why the cluster was not collected.
    `taken_at` is the time of the snapshot in seconds since the epoch, -1.0 if there is none; `seconds` is the time it
    took to read the cluster.
    """

    cluster: str
    owner: str
    tags: tuple[str, ...]
    criticality: str
    collected: bool
    why: str
    maintenance: str
    taken_at: float
    partitions: int
    topics: int
    brokers: int
    score: int
    risk: int
    critical: int
    warning: int
    info: int
    new: int
    worse: int
    still: int
    fixed: int
    muted: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One earlier audit, at most one per day. `score` is the mean over the collected clusters, -1 if there are none."""

    day: date
    run: str
    clusters: int
    collected: int
    score: int
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
    that judged none.
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

    @property
    def scenario_matrix(self) -> tuple[ClusterScenarios, ...]:
        """Returns the worst scenarios of each cluster, in the order of `clusters`."""
        return matrix_of((c.cluster for c in self.clusters), self.scenarios)

    @property
    def open(self) -> tuple[FindingRow, ...]:
        """Returns the findings that are open and not muted."""
        return tuple(f for f in self.findings if f.status in OPEN and not f.muted)
