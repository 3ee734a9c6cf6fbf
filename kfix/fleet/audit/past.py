"""Finds, for each cluster of this audit, the previous audit that includes it.

An audit of a part of the fleet therefore leaves no gap for the clusters outside that part. A damaged audit is skipped
and named in a warning, so that it does not block later audits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from kfix.adapters.fleet.audits import Audit, audits, read_rows
from kfix.adapters.fleet.places import StoreLocation
from kfix.errors import UsageError
from kfix.fleet.history.recording import EarlierAudits
from kfix.model.audit.audit import FindingRow, Status

UNREAD = "KFX901"
#: The number of audits that are searched for a cluster.
_DEEP = 60


@dataclass(frozen=True)
class Past:
    """The earlier audits of a set of clusters.

    `last` is the previous audit of the store; `rows` are the open findings of each cluster in its previous audit.
    `last_read` and `ids` cover all clusters that were ever read; `damaged` names the audits that cannot be read.
    `earlier` are the audits that were searched, with the previous audit of each cluster.
    """

    last: Audit | None = None
    rows: tuple[FindingRow, ...] = ()
    last_read: Mapping[str, date] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    earlier: EarlierAudits = field(default_factory=EarlierAudits)

    def unread_sources(self) -> Mapping[str, frozenset[str]]:
        return unread_sources(self.rows)


def unread_sources(rows: Iterable[FindingRow]) -> Mapping[str, frozenset[str]]:
    """Returns, by cluster, the sources that did not answer (KFX901)."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.code == UNREAD and row.status not in {Status.FIXED, Status.UNKNOWN}:
            found.setdefault(row.cluster, set()).add(row.object)
    return {cluster: frozenset(sources) for cluster, sources in found.items()}


def past_of(root: StoreLocation, order: tuple[date, float, str], clusters: Iterable[str]) -> Past:
    """Returns the audits before `order` (day, began, run); a repeated audit is not compared with itself."""
    damaged: list[str] = []
    earlier = [a for a in audits(root, damaged=damaged) if a.order < order]
    wanted = set(clusters)
    last: Audit | None = None
    rows: list[FindingRow] = []
    ids: dict[str, str] = {}
    read: dict[str, date] = {}
    sources: dict[str, Audit] = {}
    for audit in reversed(earlier[-_DEEP:]):
        has = wanted & set(audit.clusters_named)
        if last is not None and not has:
            continue
        try:
            found = read_rows(FindingRow, audit)
        except UsageError as error:
            damaged.append(str(error))
            continue
        if last is None:
            last, read, ids = audit, dict(audit.last_read), dict(audit.cluster_ids)
        # Fixed findings are history.
        rows += (r for r in found if r.cluster in has and r.status != Status.FIXED)
        sources |= dict.fromkeys(has, audit)
        wanted -= has
        if not wanted:
            break
    return Past(last, tuple(rows), read, ids, tuple(damaged), EarlierAudits(tuple(earlier[-_DEEP:]), sources))
