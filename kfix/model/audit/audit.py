"""What a night's audit found: one row a finding, one a cluster, and the report that every output is made of.

Rows are what the store keeps (`kfix.adapters.fleet.tables`); their fields are its columns, in this order. Fields are
added at the end, never renamed and never given another type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Against the audit before this one."""

    NEW = "new"
    STILL = "still"
    WORSE = "worse"  # a higher severity, or half as many partitions again
    FIXED = "fixed"  # was there, and the cluster was looked at again
    UNKNOWN = "unknown"  # was there, and the cluster, or a source of its look, could not be read


#: What is the matter today, as far as it is known.
OPEN = (Status.NEW, Status.STILL, Status.WORSE, Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class FindingRow:
    """`key` is stable over runs; with `cluster` it is the row's identity within a run.

    `rank` is the severity as a number (0 info, 1 warning, 2 critical). `head` is the key of the finding that explains
    this one, "" for a head. `since` is the first day of the days on end on which it was seen, `days` how many days ago
    that was (0: today). `partitions` are "topic-number". `command` is the remedy to paste, `remedy` its text where a
    person has to act. `document` is the finding as JSON, as `kfix diagnose --json` has it, without what is folded.
    `told`: it was news to somebody, neither muted nor in maintenance, on this night or one before.
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
    told: bool


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster's score card. Heads are counted that are open and not muted; what is folded is part of its head.

    `score` is 100 (nothing to say) to 0, -1 where nobody knows: the cluster was not collected. `risk` orders worries:
    what the score lacks, weighted by criticality; the highest first. `why` says why it was not collected. `taken_at` is
    seconds since the epoch of the look, -1.0 where there is none; `seconds` is how long it took.
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
    """One audit of the past: the last one of its day. `score` is the mean of the collected clusters, -1: none was."""

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
    """`scores` of one cluster by day, oldest first; -1 where it was not collected."""

    cluster: str
    days: tuple[date, ...]
    scores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Offender:
    """A check that many clusters fail: `clusters` and `findings` that are open and not muted, `worst` severity."""

    code: str
    clusters: int
    findings: int
    partitions: int
    worst: str


@dataclass(frozen=True, slots=True)
class CheckTitle:
    """Of a check, for those who read a report: its slug, one line, and whether it is one of prevention."""

    code: str
    slug: str
    title: str
    prevention: bool


@dataclass(frozen=True, slots=True)
class MuteSeen:
    """A mute of the inventory, and how many findings of this run it covers. An expired one covers none."""

    clusters: str
    findings: str
    reason: str
    by: str
    until: date
    expired: bool
    covers: int


@dataclass(frozen=True)
class AuditReport:
    """One audit, whole. `before` is the audit that it was compared with, "" for the first.

    `clusters` are the riskiest first, unknown ones before all; `findings` by cluster, severity and key, the fixed ones
    too. `trend` oldest first, this audit last. `manifest` is what the store keeps of the run: inputs, versions, rows,
    durations, what could not be read. `damaged` are audits of the history that cannot be read, a line each.
    """

    day: date
    run: str
    before: str
    before_day: date | None
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

    @property
    def open(self) -> tuple[FindingRow, ...]:
        """What is the matter and not muted."""
        return tuple(f for f in self.findings if f.status in OPEN and not f.muted)
