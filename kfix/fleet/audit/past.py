"""Finds, for each cluster of this audit, the previous audit that includes it.

An audit of a part of the fleet therefore leaves no gap for the clusters outside that part. A damaged audit is skipped
and named in a warning, so that it does not block later audits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from kfix.core.errors import UsageError
from kfix.fleet.history.recording import EarlierAudits
from kfix.fleet.model.audit import FindingRow, Status
from kfix.fleet.store.audits import Audit, audits, check_rows, read_rows
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.renames import noticed, renames_of
from kfix.fleet.store.runs import Run

#: The number of audits that are searched for a cluster.
_DEEP = 60


@dataclass(frozen=True)
class Past:
    """The earlier audits of a set of clusters.

    `last` is the previous audit of the store; `rows` are, by cluster, the findings of its previous audit that were not
    fixed, if they were read. `last_read` and `ids` cover all clusters that were ever read; `damaged` names the audits
    that cannot be read. `earlier` are the audits that were searched, with the previous audit of each cluster. `renamed`
    are the notes of all renames, for the manifest.
    """

    last: Audit | None = None
    rows: Mapping[str, tuple[FindingRow, ...]] = field(default_factory=dict)
    last_read: Mapping[str, date] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    earlier: EarlierAudits = field(default_factory=EarlierAudits)
    renamed: Sequence[Mapping[str, str]] = ()


def searched(root: StoreLocation, run: Run) -> Past:
    """Returns the audits before a run, with the names of its clusters, and without the rows of their findings.

    A repeated audit is not compared with itself.
    """
    damaged: list[str] = []
    earlier = [a for a in audits(root, damaged=damaged) if a.order < run.order]
    if not earlier:
        return Past(damaged=tuple(damaged))
    last = earlier[-1]
    known = last.under(last.renames).cluster_ids
    notes = (*last.manifest.get("renamed", ()), *noticed(run.ids(), {*run.clusters, *run.failed}, known, run.day))
    renames = renames_of(notes)
    named = tuple(a.under(renames) for a in earlier[-_DEEP:])
    return Past(damaged=tuple(damaged), earlier=EarlierAudits(named, renames=renames), renamed=notes)


def past_of(before: Past, clusters: Iterable[str], *, with_rows: bool = True) -> Past:
    """Returns what `searched` found, with the previous audit of each cluster and its findings.

    Without `with_rows` only the columns of the findings are checked, for an engine that reads the rows itself.
    """
    damaged = [*before.damaged]
    wanted = set(clusters)
    last: Audit | None = None
    rows: dict[str, list[FindingRow]] = {}
    ids: dict[str, str] = {}
    read: dict[str, date] = {}
    sources: dict[str, Audit] = {}
    for audit in reversed(before.earlier.searched):
        has = wanted & set(audit.clusters_named)
        if last is not None and not has:
            continue
        try:
            if with_rows:
                for row in read_rows(FindingRow, audit):
                    # Fixed findings are history.
                    if row.cluster in has and row.status != Status.FIXED:
                        rows.setdefault(row.cluster, []).append(row)
            else:
                check_rows(FindingRow, audit)
        except UsageError as error:
            damaged.append(str(error))
            continue
        if last is None:
            last, read, ids = audit, dict(audit.last_read), dict(audit.cluster_ids)
        sources |= dict.fromkeys(has, audit)
        wanted -= has
        if not wanted:
            break
    found = {cluster: tuple(each) for cluster, each in rows.items()}
    earlier = replace(before.earlier, compared=sources)
    return Past(last, found, read, ids, tuple(damaged), earlier, before.renamed)
