"""What checks over many clusters look at: of each cluster a digest, and what the audit before this one found.

They are the few that no single cluster can show: it was not collected, it differs from its like, nothing has moved
since last night.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from kfix.model.audit.inventory import ClusterEntry
from kfix.model.diagnosis.finding import Finding, Severity


@dataclass(frozen=True, slots=True)
class ClusterDigest:
    """`settings` are those that most brokers of the cluster have; `taken_at` is in seconds since the epoch."""

    name: str
    cluster_id: str
    taken_at: float
    brokers: int
    topics: int
    partitions: int
    settings: Mapping[str, str] = field(default_factory=dict)
    could_not_read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stuck:
    """Partitions in the trouble that `code` tells of, in this look and in the one of `since`."""

    code: str
    partitions: tuple[str, ...]
    since: date


@dataclass(frozen=True)
class FleetCase:
    """`began` and `ended` bound the run's looks, seconds since the epoch. `failed` says why a cluster was not read;
    `last_read` is the day of the last audit that has it.
    """

    day: date
    began: float
    ended: float
    entries: Mapping[str, ClusterEntry]
    digests: Mapping[str, ClusterDigest]
    failed: Mapping[str, str] = field(default_factory=dict)
    last_read: Mapping[str, date] = field(default_factory=dict)
    stuck: Mapping[str, tuple[Stuck, ...]] = field(default_factory=dict)
    ids_before: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FleetCheck:
    """Gives (name of the cluster, finding)."""

    code: str
    slug: str
    title: str
    severity: Severity
    check: Callable[[FleetCase], Iterator[tuple[str, Finding]]]
    prevention: bool = False
