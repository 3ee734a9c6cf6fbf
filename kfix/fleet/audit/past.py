"""Finds, for each cluster of this audit, the previous audit that includes it, and the findings of that one.

An audit of a part of the fleet therefore leaves no gap for the clusters outside that part. A damaged audit is skipped
and named in a warning, so that it does not block later audits.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pyarrow.dataset as ds

from kfix.core.errors import UsageError
from kfix.fleet.history.recording import EarlierAudits
from kfix.fleet.model.audit import FindingRow, Status
from kfix.fleet.store.audits import Audit, audits, check_rows, files_of, rows_in
from kfix.fleet.store.delta import StoreTable, TableFile
from kfix.fleet.store.footers import read_table
from kfix.fleet.store.places import StoreLocation, place_of, readable_errors
from kfix.fleet.store.renames import noticed, renames_of
from kfix.fleet.store.runs import Run, read_row
from kfix.fleet.store.tables import AUDITS, RUNS

#: The number of audits that are searched for a cluster.
_DEEP = 60


@dataclass(frozen=True, slots=True)
class EarlierFindings:
    """The files with the findings of the previous audit of a cluster, in which it has one of the names `was`."""

    files: tuple[str, ...] = ()
    was: tuple[str, ...] = ()


@dataclass(frozen=True)
class Past:
    """The earlier audits of a set of clusters.

    `last` is the previous audit of the store; `findings` are, by cluster, those of its previous audit. `last_read` and
    `ids` cover all clusters that were ever read; `damaged` names the audits that cannot be read. `earlier` are the
    audits that were searched, with the previous audit of each cluster. `renamed` are the notes of all renames, for the
    manifest.
    """

    last: Audit | None = None
    findings: Mapping[str, EarlierFindings] = field(default_factory=dict)
    last_read: Mapping[str, date] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    earlier: EarlierAudits = field(default_factory=EarlierAudits)
    renamed: Sequence[Mapping[str, str]] = ()


def past_of(root: StoreLocation, run: Run, clusters: Iterable[str]) -> Past:
    """Returns the audits before a run, with the names of its clusters, and the previous audit of each of `clusters`.

    A repeated audit is not compared with itself.
    """
    damaged: list[str] = []
    earlier = [a for a in audits(root, damaged=damaged) if a.order < run.order]
    if not earlier:
        return Past(damaged=tuple(damaged))
    newest = earlier[-1]
    known = newest.under(newest.renames).cluster_ids
    notes = (*newest.manifest.get("renamed", ()), *noticed(run.ids(), {*run.clusters, *run.failed}, known, run.day))
    renames = renames_of(notes)
    searched = tuple(a.under(renames) for a in earlier[-_DEEP:])
    wanted = set(clusters)
    last: Audit | None = None
    compared: dict[str, Audit] = {}
    for audit in reversed(searched):
        has = wanted & set(audit.clusters_named)
        if last is not None and not has:
            continue
        try:
            check_rows(FindingRow, audit)
        except UsageError as error:
            damaged.append(str(error))
            continue
        last = last or audit
        compared |= dict.fromkeys(has, audit)
        wanted -= has
        if not wanted:
            break
    found = Past(damaged=tuple(damaged), earlier=EarlierAudits(searched, compared, renames), renamed=notes)
    if last is None:
        return found
    return replace(found, last=last, findings=_findings(root, compared), last_read=last.last_read, ids=last.cluster_ids)


def _findings(root: StoreLocation, compared: Mapping[str, Audit]) -> Mapping[str, EarlierFindings]:
    by_run: dict[tuple[date, str], list[TableFile]] = {}
    for file in files_of(root, FindingRow, {audit.key for audit in compared.values()}):
        by_run.setdefault((file.day, file.run), []).append(file)
    found = {}
    for cluster, audit in compared.items():
        # The audit that noticed a new name stored it already.
        was = {old for old, new in audit.names.items() if new == cluster}
        was |= {cluster} - audit.names.keys()
        files = (file for file in by_run.get(audit.key, ()) if _may_have(file, was))
        found[cluster] = EarlierFindings(tuple(str(file.place) for file in files), tuple(sorted(was)))
    return found


def _may_have(file: TableFile, clusters: Iterable[str]) -> bool:
    return file.clusters is None or any(file.clusters[0] <= each <= file.clusters[1] for each in clusters)


def earlier_rows(
    earlier: Mapping[str, EarlierFindings], codes: Collection[str] | None = None
) -> Mapping[str, Sequence[FindingRow]]:
    """Returns by cluster the findings of its previous audit that were not fixed, or those of them with these codes.

    Raises UsageError if a file is damaged.
    """
    by_file: dict[str, dict[str, str]] = {}
    for cluster, each in earlier.items():
        for file in each.files:
            by_file.setdefault(file, {}).update(dict.fromkeys(each.was, cluster))
    found: dict[str, list[FindingRow]] = {}
    for file, names in by_file.items():
        # Fixed findings are history.
        wanted = ds.field("cluster").isin([*names]) & (ds.field("status") != Status.FIXED.value)
        if codes is not None:
            wanted &= ds.field("code").isin([*codes])
        place = place_of(file)
        with readable_errors(place):
            table = read_table(place, filters=wanted)
        for row in rows_in(FindingRow, table, names):
            found.setdefault(row.cluster, []).append(row)
    return found


def pending_runs(root: StoreLocation, since: date | None) -> tuple[Run, ...]:
    """Returns the complete runs without an audit, oldest first: those of `since` and later, or with None those that
    began after the last run that has one.

    An audit that was killed does not count. Raises UsageError if such a run is damaged.
    """
    judged = set(StoreTable(root, AUDITS).runs())
    first = max((day for day, _ in judged), default=date.min) if since is None else since
    there = StoreTable(root, RUNS).files(lambda day, _run: day >= first)
    last = None
    if since is None:
        last = max((read_row(root, f).order for f in there if (f.day, f.run) in judged), default=None)
    found = sorted((read_row(root, f) for f in there if (f.day, f.run) not in judged), key=lambda r: r.order)
    return tuple(run for run in found if last is None or run.order > last)
