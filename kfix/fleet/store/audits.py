"""Stored audits: `findings`, `clusters` (score cards), `transitions`, `episodes` and `audits`, which is committed last.

A row of `audits` names the files of the other four. If a repeated audit was killed between two commits,
the names differ: then the audit counts as damaged until it is repeated, and every table has it once and whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from typing import Any, Final, TypeVar, get_type_hints

import pyarrow as pa

from kfix.core.errors import UsageError
from kfix.fleet.model.audit import ClusterRow, FindingRow, MuteSeen
from kfix.fleet.model.scenarios import ScenarioRow
from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.flat import table_of as small_table
from kfix.fleet.store.footers import parquet_file, read_table
from kfix.fleet.store.places import StoreLocation, left_out, readable_errors
from kfix.fleet.store.renames import Rename, names_at, renames_of
from kfix.fleet.store.spec import TableSpec, rows_table
from kfix.fleet.store.staging import replace_run
from kfix.fleet.store.tables import AUDITS, CLUSTERS, FINDINGS, SCENARIOS

_REPEAT: Final = "repeat that audit: kfix audit --collect no --date DAY --run RUN"
_SPECS: Final[Mapping[type, TableSpec]] = {
    FindingRow: FINDINGS,
    ClusterRow: CLUSTERS,
    ScenarioRow: SCENARIOS,
}
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Audit:
    """A complete stored audit.

    `began` is the start of its run in seconds since the epoch; audits are ordered by it. `clusters_named` are the
    clusters of the run, read or not; `previous` is the (day, run) of the audit that it was compared with. `renames` are
    those up to this audit, `names` {name in the stored rows: name of today} of clusters that were renamed since.
    """

    root: StoreLocation
    day: date
    id: str
    began: float
    manifest: Mapping[str, Any]
    clusters_named: tuple[str, ...] = ()
    last_read: Mapping[str, date] = field(default_factory=dict)
    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    previous: tuple[date, str] | None = None
    mutes: tuple[MuteSeen, ...] = ()
    could_not_read: tuple[str, ...] = ()
    renames: tuple[Rename, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def under(self, renames: tuple[Rename, ...]) -> Audit:
        """Returns this audit with the names that its clusters have after these renames."""
        names = names_at(renames, self.day)
        if not names:
            return self

        def now(found: Mapping[str, Any]) -> dict[str, Any]:
            return {names.get(name, name): value for name, value in found.items()}

        unread = {key: now(self.manifest.get(key, {})) for key in ("not_read", "could_not_read")}
        return replace(
            self,
            manifest={**self.manifest, **unread},
            clusters_named=tuple(now(dict.fromkeys(self.clusters_named))),
            last_read=now(self.last_read),
            cluster_ids=now(self.cluster_ids),
            names=names,
        )

    @property
    def order(self) -> tuple[date, float, str]:
        return (self.day, self.began, self.id)

    @property
    def key(self) -> tuple[date, str]:
        return (self.day, self.id)


def table_of(kind: type[Row], rows: Iterable[Row]) -> Any:
    """Returns the rows as a pyarrow table in the given order."""
    schema = _SPECS[kind].file_schema
    return rows_table(schema, ([getattr(row, name) for name in schema.names] for row in rows))


def files_of(root: StoreLocation, kind: type, runs: Iterable[tuple[date, str]]) -> list[TableFile]:
    """Returns the files with these rows of these audits."""
    wanted = frozenset(runs)
    return StoreTable(root, _SPECS[kind]).files(lambda day, run: (day, run) in wanted)


def with_files(spec: TableSpec, chosen: Iterable[Audit], there: Iterable[TableFile]) -> list[Audit]:
    """Returns the audits whose committed files of this table, among `there`, are those that the audit wrote."""
    found: dict[tuple[date, str], list[str]] = {}
    for file in there:
        found.setdefault((file.day, file.run), []).append(file.name)
    return [a for a in chosen if found.get(a.key, []) == a.manifest.get("files", {}).get(spec.name)]


def read_rows(kind: type[Row], audit: Audit) -> tuple[Row, ...]:
    """Reads the rows of an audit by column name.

    Raises UsageError if a file is damaged, not of this audit, or lacks a column.
    """
    wanted = _SPECS[kind].file_schema
    found: list[Row] = []
    there = files_of(audit.root, kind, [audit.key])
    _check_names(audit, kind, there)
    for file in there:
        with readable_errors(file.place, _REPEAT):
            table = read_table(file.place)
        check_columns(table.schema, wanted, str(file.place))
        found += rows_in(kind, table, audit.names)
    return tuple(found)


def rows_in(kind: type[Row], table: Any, names: Mapping[str, str]) -> Iterator[Row]:
    """Yields the rows of a table; `names` are {cluster in the table: its name of today}, if that is another one."""
    hints, columns = get_type_hints(kind), []
    for f in fields(kind):  # type: ignore[arg-type]
        values = table.column(f.name).to_pylist()
        if hints[f.name] in (tuple[str, ...], tuple[int, ...]):
            values = [tuple(v) for v in values]
        columns.append([names.get(v, v) for v in values] if f.name == "cluster" else values)
    return (kind(*values) for values in zip(*columns, strict=True))


def _check_names(audit: Audit, kind: type, there: Sequence[TableFile]) -> None:
    name = _SPECS[kind].name
    if [f.name for f in there] != audit.manifest["files"].get(name, []):
        raise UsageError(
            f"{audit.root}: the audit {audit.id!r} of {audit.day}: its {name} are of another attempt, which was killed",
            hint=_REPEAT,
        )


def check_columns(found: Any, wanted: Any, where: str) -> None:
    """Raises UsageError if a column of `wanted` is missing or has another type."""
    for column in wanted:
        at = found.get_field_index(column.name)
        if at < 0:
            raise UsageError(
                f"{where}: has no column {column.name!r}: written by another version of kfix, or not an audit"
            )
        kind = found.field(at).type
        same_list = (
            pa.types.is_list(kind) and pa.types.is_list(column.type) and kind.value_type == column.type.value_type
        )
        if kind != column.type and not same_list:
            raise UsageError(f"{where}: column {column.name!r} is {kind}, expected {column.type}")


def is_sound(audit: Audit) -> str:
    """Returns the reason why the score cards of an audit cannot be read, "" if they can."""
    try:
        check_rows(ClusterRow, audit)
    except UsageError as error:
        return str(error)
    return ""


def check_rows(kind: type, audit: Audit) -> None:
    """Raises UsageError if a file with these rows of an audit is damaged, missing or of another one."""
    there = files_of(audit.root, kind, [audit.key])
    _check_names(audit, kind, there)
    for file in there:
        with readable_errors(file.place, _REPEAT), parquet_file(file.place) as opened:
            check_columns(opened.schema_arrow, _SPECS[kind].file_schema, str(file.place))
            for _ in opened.iter_batches(use_threads=False):
                pass  # A row group at a time: whether its pages have their checksums.


def write_audit(
    root: StoreLocation,
    day: date,
    run: str,
    began: float,
    files: Mapping[TableSpec, Sequence[NewFile]],
    rows: Mapping[TableSpec, Any],
    manifest: Mapping[str, Any],
) -> Audit:
    """Commits an audit: `files` are those written for some tables, `rows` the pyarrow tables of all others.

    Rows are sorted by cluster. `audits` is committed last.
    """
    names: dict[str, list[str]] = {}
    for spec, written in files.items():
        StoreTable(root, spec).replace(day, run, written)
        names[spec.name] = sorted(file.name for file in written)
    for spec, table in rows.items():
        names[spec.name] = [file.name for file in replace_run(root, spec, day, run, table)]
    whole = {"began": began, "files": names, **manifest}
    earlier = manifest["previous"]
    row = {
        "began": datetime.fromtimestamp(began, UTC),
        "ended": datetime.fromtimestamp(manifest["ended"], UTC),
        "kfix": manifest["kfix"],
        "engine": manifest["engine"],
        "findings": sum(file.rows for file in files[FINDINGS]),
        "clusters": rows[CLUSTERS].num_rows,
        "previous_day": date.fromisoformat(earlier["date"]) if earlier else None,
        "previous_run": earlier["run"] if earlier else None,
        "manifest": json.dumps(whole, ensure_ascii=False, allow_nan=False),
    }
    replace_run(root, AUDITS, day, run, small_table(AUDITS, [row]))
    return _audit(root, day, run, whole)


def audits(root: StoreLocation, since: date | None = None, *, damaged: list[str] | None = None) -> tuple[Audit, ...]:
    """Returns the complete audits since a day, oldest first.

    Audits that cannot be read are skipped and described in `damaged`; without that list UsageError is raised.
    """
    found = []
    for each in StoreTable(root, AUDITS).files(lambda day, _run: since is None or day >= since):
        with left_out(damaged):
            found.append(read_audit(root, each))
    return tuple(sorted(found, key=lambda a: a.order))


def read_audit(root: StoreLocation, file: TableFile) -> Audit:
    """Raises UsageError if the row of `audits` is damaged."""
    with readable_errors(file.place, _REPEAT):
        texts = read_table(file.place, columns=["manifest"]).column(0).to_pylist()
    try:
        return _audit(root, file.day, file.run, json.loads(texts[0]))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(f"{file.place}: is damaged: {type(error).__name__} at {error}", hint=_REPEAT) from None


def _audit(root: StoreLocation, day: date, run: str, manifest: Mapping[str, Any]) -> Audit:
    earlier = manifest.get("previous")
    unread = manifest.get("could_not_read", {})
    return Audit(
        root,
        day,
        run,
        float(manifest["began"]),
        manifest,
        tuple(map(str, manifest.get("clusters_named", ()))),
        {str(n): date.fromisoformat(d) for n, d in manifest.get("last_read", {}).items()},
        {str(n): str(i) for n, i in manifest.get("cluster_ids", {}).items()},
        (date.fromisoformat(earlier["date"]), str(earlier["run"])) if earlier else None,
        tuple(MuteSeen(**mute | {"until": date.fromisoformat(mute["until"])}) for mute in manifest.get("mutes", ())),
        tuple(f"{cluster}: {source}" for cluster, sources in sorted(unread.items()) for source in sources),
        renames_of(manifest.get("renamed", ())),
    )
