"""The totals of an audit, and which findings are news. All outputs use these functions, so they agree."""

from dataclasses import dataclass
from typing import Annotated

from kfix.core.declared import OrNull
from kfix.fleet.model.audit import UNKNOWN_SCORE, AuditReport, ClusterRow, FindingRow, MuteSeen, fleet_score
from kfix.fleet.report.order import first_things


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of an audit, of open heads that are not muted, as in `ClusterRow`."""

    clusters: int
    collected: int
    score: Annotated[OrNull[float], "the fleet's score over the clusters that were read (docs/audit.md)"]
    previous_score: Annotated[OrNull[float], "that of the previous audit"]
    critical: int
    warning: int
    info: int
    new: int
    worse: int
    still: int
    fixed: int
    muted: int
    score_change: Annotated[float | None, "over the clusters that both audits read; null if there are none"] = None

    @property
    def unknown(self) -> int:
        return self.clusters - self.collected

    @property
    def open(self) -> int:
        return self.critical + self.warning + self.info


def totals(report: AuditReport) -> Totals:
    rows = report.clusters
    return Totals(
        clusters=len(rows),
        collected=sum(c.collected for c in rows),
        score=_score(report),
        previous_score=report.trend[-2].score if len(report.trend) > 1 else UNKNOWN_SCORE,
        critical=sum(c.critical for c in rows),
        warning=sum(c.warning for c in rows),
        info=sum(c.info for c in rows),
        new=sum(c.new for c in rows),
        worse=sum(c.worse for c in rows),
        still=sum(c.still for c in rows),
        fixed=sum(c.fixed for c in rows),
        muted=sum(c.muted for c in rows),
        score_change=report.history.score.change if report.history.score else None,
    )


def _score(report: AuditReport) -> float:
    if report.trend and report.trend[-1].run == report.run:
        return report.trend[-1].score
    return fleet_score([c.points for c in report.clusters if c.collected])


def unknown_clusters(report: AuditReport) -> tuple[ClusterRow, ...]:
    return tuple(c for c in report.clusters if not c.collected)


def in_maintenance(report: AuditReport) -> frozenset[str]:
    return frozenset(c.cluster for c in report.clusters if c.maintenance)


def passed(report: AuditReport) -> tuple[FindingRow, ...]:
    """Returns the findings that began and ended after the last delivery, without consequences of others of them."""
    heads = {(f.cluster, f.key) for f in report.passed}
    return tuple(f for f in report.passed if (f.cluster, f.head) not in heads)


def fresh_expiries(report: AuditReport) -> tuple[MuteSeen, ...]:
    """Returns the mutes that expired since the previous audit: their findings raise alerts again without being new."""
    before = report.previous_day
    return tuple(m for m in report.mutes if m.expired and (before is None or m.until >= before))


def has_news(report: AuditReport) -> bool:
    """Returns whether the audit has news outside maintenance windows. An unread cluster is a finding (KFX701)."""
    at_work = in_maintenance(report)
    new = (name for entry in first_things(report, only_new=True) for name in entry.clusters)
    return any(name not in at_work for name in (*new, *(f.cluster for f in passed(report)))) or bool(
        fresh_expiries(report)
    )
