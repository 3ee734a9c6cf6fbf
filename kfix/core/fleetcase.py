"""The input of checks over a whole fleet: a digest of each cluster and the findings of the previous audit.

These checks cover what a single snapshot cannot show: a cluster was not collected, its settings differ from those of
its peers, or a partition has been stuck since the previous audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from kfix.core.derive.checks import Documented
from kfix.core.diagnosis.finding import Finding, Severity
from kfix.core.inventory.model import ClusterEntry


@dataclass(frozen=True, slots=True)
class ClusterDigest:
    """The facts about one cluster that fleet checks compare.

    `settings` are the values that most of its brokers have; `taken_at` is the snapshot's time in seconds since the
    epoch.
    """

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
    """Partitions of findings of the check `code`, which the audits since `since` report, in this snapshot, too."""

    code: str
    partitions: tuple[str, ...]
    since: date


@dataclass(frozen=True)
class FleetCase:
    """The clusters of one run, compared with earlier audits.

    `began` and `ended` are the times between which the run read its clusters, in seconds since the epoch. `failed`
    maps a cluster that was not read to the reason; `last_read` maps a cluster to the day of the last audit that read
    it; `previous_ids` maps it to the cluster id that was seen then.
    """

    day: date
    began: float
    ended: float
    entries: Mapping[str, ClusterEntry]
    digests: Mapping[str, ClusterDigest]
    failed: Mapping[str, str] = field(default_factory=dict)
    last_read: Mapping[str, date] = field(default_factory=dict)
    stuck: Mapping[str, tuple[Stuck, ...]] = field(default_factory=dict)
    previous_ids: Mapping[str, str] = field(default_factory=dict)


FleetJudge = Callable[[FleetCase], Iterator[tuple[str, Finding]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCheck(Documented):
    """A check over a whole fleet. The function that it decorates yields (name of the cluster, finding)."""

    judge: FleetJudge = lambda _: iter(())
    severity: Severity = Severity.WARNING
    prevention: bool = False

    def __call__(self, judge: FleetJudge) -> FleetCheck:
        return replace(self, judge=judge)

    def findings(self, case: FleetCase) -> Iterator[tuple[str, Finding]]:
        """Yields what the judge finds, under the code of the check."""
        for name, found in self.judge(case):
            yield name, replace(found, code=self.code, prevention=self.prevention)
