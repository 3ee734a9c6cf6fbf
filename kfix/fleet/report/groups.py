"""Score cards by owner and by tag: what a team answers for, worst first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from kfix.core.declared import OrNull
from kfix.fleet.model.audit import AuditReport, ClusterRow, fleet_score


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The clusters of one owner or tag; counts as in `ClusterRow`."""

    name: Annotated[str, '"" for clusters without an owner']
    clusters: int
    collected: int
    score: Annotated[OrNull[float], "as the fleet's, over the clusters that were read"]
    risk: Annotated[int, "the sum"]
    critical: int
    warning: int
    new: int
    worse: int
    fixed: int


def by_owner(report: AuditReport) -> tuple[GroupScore, ...]:
    return _grouped(report.clusters, lambda row: (row.owner,))


def by_tag(report: AuditReport) -> tuple[GroupScore, ...]:
    """Returns the tags; a cluster with several tags counts for each of them, one without tags for none."""
    return _grouped(report.clusters, lambda row: dict.fromkeys(row.tags))


def _grouped(rows: Iterable[ClusterRow], names: Callable[[ClusterRow], Iterable[str]]) -> tuple[GroupScore, ...]:
    groups: dict[str, list[ClusterRow]] = {}
    for row in rows:
        for name in names(row):
            groups.setdefault(name, []).append(row)
    found = (_score(name, mine) for name, mine in groups.items())
    return tuple(sorted(found, key=lambda g: (-g.critical, -g.risk, g.name)))


def _score(name: str, rows: list[ClusterRow]) -> GroupScore:
    known = [row.points for row in rows if row.collected]
    return GroupScore(
        name=name,
        clusters=len(rows),
        collected=sum(row.collected for row in rows),
        score=fleet_score(known),
        risk=sum(row.risk for row in rows),
        critical=sum(row.critical for row in rows),
        warning=sum(row.warning for row in rows),
        new=sum(row.new for row in rows),
        worse=sum(row.worse for row in rows),
        fixed=sum(row.fixed for row in rows),
    )
