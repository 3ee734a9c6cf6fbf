"""Records the history of an audit: the changes since the previous audit, and the episodes of its findings.

Each cluster is compared with the last audit that read it, so an audit of a part of the fleet, or one that could not
read a cluster, leaves no gap.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from kfix.core.errors import UnreachableError, UsageError
from kfix.fleet.engines.engine import Engine, View
from kfix.fleet.history import recording_sql
from kfix.fleet.history.partitions import Compared, compared_snapshots
from kfix.fleet.store.audits import Audit, with_files
from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.history_tables import EPISODES, TRANSITIONS
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.renames import Rename
from kfix.fleet.store.runs import Run
from kfix.fleet.store.spec import TIME, TableSpec, rows_table
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.stored import stored_rows
from kfix.fleet.store.tables import BROKERS, GROUPS, SNAPSHOTS, TOPICS

_RECREATED: Final = pa.schema([("cluster", pa.string()), ("topic", pa.string())])
_AUDITED_BEFORE: Final = pa.schema([("cluster", pa.string()), ("day", pa.date32()), ("run", pa.string())])
_COMPARED: Final = (TOPICS, BROKERS, GROUPS, SNAPSHOTS)
#: A cluster with the run that it is compared with.
PAIRS: Final = pa.schema(
    [("cluster", pa.string()), ("day", pa.date32()), ("run", pa.string()), ("seconds", pa.int64())]
)
#: A cluster of an audit: the begin of its run, and that of the last one before whose audit read the whole cluster.
KNOWN: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("owner", pa.string()),
        ("version", pa.string()),
        ("at", TIME),
        ("not_before", TIME),
    ]
)


@dataclass(frozen=True)
class EarlierAudits:
    """The audits before this one: those that were searched, oldest first, and by cluster the one to compare with.

    `renames` are those up to this audit, whose names of clusters all of these audits have.
    """

    searched: tuple[Audit, ...] = ()
    compared: Mapping[str, Audit] = field(default_factory=dict)
    renames: tuple[Rename, ...] = ()


def recorded(
    root: StoreLocation,
    run: Run,
    owners: Mapping[str, str],
    versions: Mapping[str, str],
    findings: Any,
    past: EarlierAudits,
    recreated: Mapping[str, frozenset[str]],
    engine: Engine,
    damaged: list[str],
) -> tuple[tuple[NewFile, ...], tuple[NewFile, ...]]:
    """Returns the files that were written for `transitions` and for `episodes`.

    `owners` has every cluster of the run, `versions` those that were judged; `findings` are rows of that table;
    `recreated` are topics that were created again. If a file of the snapshots cannot be read, this audit records no
    transitions, and `damaged` says so. Raises UsageError if an earlier audit is damaged.
    """
    changes: tuple[NewFile, ...] = ()
    try:
        changes = transitions(root, run, versions, past, recreated, engine)
    except (UsageError, UnreachableError) as error:
        damaged.append(f"{run.day} {run.id}: its transitions were not recorded: {error}")
    return changes, episodes(root, run, owners, versions, findings, past, engine)


def transitions(
    root: StoreLocation,
    run: Run,
    judged: Iterable[str],
    past: EarlierAudits,
    recreated: Mapping[str, frozenset[str]],
    engine: Engine,
) -> tuple[NewFile, ...]:
    """Writes the changes of the judged clusters since the previous audit that read them and whose run is stored."""
    tables = _compared(root, run, judged, past)
    if not tables:
        return ()
    pairs = [(cluster, topic) for cluster, topics in recreated.items() for topic in topics]
    tables["recreated"] = rows_table(_RECREATED, pairs)
    return _written(engine, recording_sql.TRANSITIONS, tables, recording_sql.TRANSITIONS_ORDER, run, TRANSITIONS)


def compared_with(root: StoreLocation, past: EarlierAudits, clusters: Iterable[str]) -> Mapping[str, Audit]:
    """Returns by cluster the last audit that read it, if its run is still stored."""
    stored = set(StoreTable(root, SNAPSHOTS).runs())
    return {cluster: audit for cluster, audit in last_reading(past.searched, clusters).items() if audit.key in stored}


def snapshots_to_compare(
    root: StoreLocation, run: Run, past: EarlierAudits
) -> tuple[Mapping[str, Compared], Mapping[str, str]]:
    """Returns the clusters of a run, each with its snapshot of the previous audit, and errors: no cluster is compared
    if a file is damaged that shows where they are.
    """
    known = (name for audit in past.searched for name in audit.clusters_named)
    try:
        return compared_snapshots(run, compared_with(root, past, run.clusters), known), {}
    except (UsageError, UnreachableError) as error:
        return {}, {"all clusters": str(error)}


def _compared(root: StoreLocation, run: Run, judged: Iterable[str], past: EarlierAudits) -> dict[str, Any]:
    """Returns tables of this run and, as `old_...`, of the runs that `pairs` names; {} if there is none of them."""
    pairs = compared_with(root, past, judged)
    if not pairs:
        return {}
    old = {audit.key for audit in pairs.values()}
    tables: dict[str, Any] = {
        "pairs": rows_table(PAIRS, ((name, a.day, a.id, int(run.began - a.began)) for name, a in pairs.items()))
    }
    names = sorted({*pairs, *(r.was for r in past.renames)})

    def has_some(file: TableFile) -> bool:
        """A damaged file has no cluster that was judged, unless files were merged."""
        if file.clusters is None:
            return True
        first, last = file.clusters
        return bisect_left(names, first) < bisect_right(names, last)

    for spec in _COMPARED:
        there = StoreTable(root, spec).files(lambda day, name: (day, name) in old or (day, name) == (run.day, run.id))
        files = [f for f in there if has_some(f)]
        now = (f for f in files if (f.day, f.run) == (run.day, run.id))
        tables[spec.name] = stored_rows(root, spec, now)
        before = (f for f in files if (f.day, f.run) in old)
        tables[f"old_{spec.name}"] = stored_rows(root, spec, before, past.renames)
    return tables


def episodes(
    root: StoreLocation,
    run: Run,
    owners: Mapping[str, str],
    versions: Mapping[str, str],
    findings: Any,
    past: EarlierAudits,
    engine: Engine,
) -> tuple[NewFile, ...]:
    """Writes the episodes that are open after this audit, or end with it."""
    whole = last_reading(past.searched, owners, in_whole=True)
    at = datetime.fromtimestamp(run.began, UTC)
    read = {name: datetime.fromtimestamp(audit.began, UTC) for name, audit in whole.items()}
    rows = ((name, owner, versions.get(name, ""), at, read.get(name)) for name, owner in owners.items())
    known = rows_table(KNOWN, rows)
    tables = {**_open_before(root, past), "found": findings, "known": known}
    return _written(engine, recording_sql.EPISODES, tables, recording_sql.EPISODES_ORDER, run, EPISODES)


def _written(
    engine: Engine, sql: str, tables: Mapping[str, Any], order: Sequence[str], run: Run, spec: TableSpec
) -> tuple[NewFile, ...]:
    written = engine.over_parts(sql, tables, order, RunTable.of(run, spec))
    return tuple(sorted((file for files in written for file in files), key=lambda file: file.name))


def last_reading(earlier: Iterable[Audit], clusters: Iterable[str], *, in_whole: bool = False) -> Mapping[str, Audit]:
    """Returns, by cluster, the last of these audits (oldest first) that read it; with `in_whole`, all sources of it."""
    wanted = set(clusters)
    found: dict[str, Audit] = {}
    for audit in reversed(tuple(earlier)):
        missed = set(audit.manifest.get("not_read", ()))
        if in_whole:
            missed |= set(audit.manifest.get("could_not_read", ()))
        has = (wanted & set(audit.clusters_named)) - missed
        found |= dict.fromkeys(sorted(has), audit)
        wanted -= has
    return found


def _open_before(root: StoreLocation, past: EarlierAudits) -> dict[str, Any]:
    """Returns the tables of `open_before`: the episodes that were open when each cluster was audited before."""
    keys = {audit.key for audit in past.compared.values()}
    there = StoreTable(root, EPISODES).files(lambda day, name: (day, name) in keys)
    sound = {a.key for a in with_files(EPISODES, past.compared.values(), there)}
    chosen = {cluster: audit for cluster, audit in past.compared.items() if audit.key in sound}
    if not chosen:
        return {"open_before": EPISODES.file_schema.empty_table()}
    of = rows_table(_AUDITED_BEFORE, ((name, audit.day, audit.id) for name, audit in chosen.items()))
    names = ", ".join(f"e.{name}" for name in EPISODES.file_schema.names)
    sql = (
        f"SELECT {names} FROM episodes e JOIN compared c "  # noqa: S608 - the names of our columns
        "ON c.cluster = e.cluster AND c.day = e.day AND c.run = e.run WHERE e.ended IS NULL"
    )
    files = [f for f in there if (f.day, f.run) in sound]
    return {"episodes": stored_rows(root, EPISODES, files, past.renames), "compared": of, "open_before": View(sql)}
