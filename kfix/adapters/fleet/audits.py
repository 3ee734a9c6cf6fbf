"""Stored audits: one folder per audit, append-only, with a manifest that is written last.

    <root>/v1/audits/date=YYYY-MM-DD/run=<id>/findings-<attempt>.parquet
    <root>/v1/audits/date=YYYY-MM-DD/run=<id>/clusters-<attempt>.parquet
    <root>/v1/audits/date=YYYY-MM-DD/run=<id>/audit.json

The manifest names the valid files. A repeated audit writes new files and then its manifest, so a reader sees either the
complete old audit or the complete new one. Other audits are never touched.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Final, TypeVar, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from kfix.adapters.fleet.places import (
    TABLE,
    StoreLocation,
    exists,
    files,
    left_out,
    place_of,
    read_bytes,
    readable_errors,
    remove,
    run_folders,
    run_name,
    write_bytes,
    writing,
)
from kfix.adapters.fleet.schema import VERSION
from kfix.errors import UsageError
from kfix.model.audit.audit import ClusterRow, MuteSeen

FORMAT: Final = "kfix.audit-run"
AUDITS: Final = "audits"
AUDIT: Final = "audit.json"
FINDINGS: Final = "findings"
CLUSTERS: Final = "clusters"
_REPEAT: Final = "repeat that audit: kfix audit --collect no --date DAY --run RUN"
_TYPES: Final[Mapping[Any, Any]] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    date: pa.date32(),
    tuple[str, ...]: pa.list_(pa.string()),
}
#: The columns that name the audit, in addition to the fields of the row.
_WHEN: Final = (pa.field("day", pa.date32(), nullable=False), pa.field("run", pa.string(), nullable=False))
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Audit:
    """A complete stored audit.

    `began` is the start of its run in seconds since the epoch; audits are ordered by it. `clusters_named` are the
    clusters of the run, read or not; `previous` is the (day, run) of the audit that it was compared with.
    """

    place: StoreLocation
    day: date
    id: str
    began: float
    findings: str
    clusters: str
    manifest: Mapping[str, Any]
    clusters_named: tuple[str, ...] = ()
    last_read: Mapping[str, date] = field(default_factory=dict)
    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    previous: tuple[date, str] | None = None
    mutes: tuple[MuteSeen, ...] = ()
    could_not_read: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[date, float, str]:
        return (self.day, self.began, self.id)


def schema_of(kind: type) -> Any:
    """Returns the pyarrow schema of a row class."""
    hints = get_type_hints(kind)
    return pa.schema([*_WHEN, *(pa.field(f.name, _TYPES[hints[f.name]], nullable=False) for f in fields(kind))])


def table_of(kind: type[Row], rows: Iterable[Row], day: date, run: str, names: Sequence[str] | None = None) -> Any:
    """Returns the rows as a pyarrow table in the given order, with all columns or those in `names`."""
    rows, schema = tuple(rows), schema_of(kind)
    if names is not None:
        schema = pa.schema([schema.field(name) for name in names])
    when = {"day": day, "run": run}
    columns = ([when[n]] * len(rows) if n in when else [getattr(r, n) for r in rows] for n in schema.names)
    return pa.Table.from_arrays([_column(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _column(values: list[Any], kind: Any) -> Any:
    """Escapes text that is not valid UTF-8, such as a lone surrogate in a topic or group name."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([*map(_escaped, values)], kind)


def _escaped(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_escaped(v) for v in value]
    return value.encode("utf-8", "backslashreplace").decode()


def read_rows(kind: type[Row], file: str) -> tuple[Row, ...]:
    """Reads rows by column name. Raises UsageError if a column is missing or has another type."""
    place = place_of(file)
    wanted = schema_of(kind)
    with readable_errors(place, _REPEAT), place.system.open_input_file(place.path) as opened:
        table = pq.ParquetFile(opened).read()
    check_columns(table.schema, wanted, str(place))
    hints = get_type_hints(kind)
    columns = []
    for f in fields(kind):  # type: ignore[arg-type]
        values = table.column(f.name).to_pylist()
        columns.append([tuple(v) for v in values] if hints[f.name] == tuple[str, ...] else values)
    return tuple(kind(*values) for values in zip(*columns, strict=True))


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
    place = place_of(audit.clusters)
    try:
        with readable_errors(place), place.system.open_input_file(place.path) as opened:
            schema = pq.read_schema(opened)
        check_columns(schema, schema_of(ClusterRow), str(place))
    except UsageError as error:
        return str(error)
    return ""


def write_audit(
    root: StoreLocation,
    day: date,
    run: str,
    began: float,
    tables: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> Audit:
    """Writes an audit; `tables` are `findings` and `clusters`.

    The files of the previous attempt stay, for readers that have just read its manifest; older ones are deleted.
    """
    place = audit_place(root, day, run)
    kept = set(_files_of(place))
    attempt = secrets.token_hex(4)
    names = {kind: f"{kind}-{attempt}{TABLE}" for kind in (FINDINGS, CLUSTERS)}
    for kind, name in names.items():
        with writing(place / name) as out:
            pq.write_table(tables[kind], out, compression="zstd", store_schema=False)
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "date": day.isoformat(),
        "run": run,
        "began": began,
        "files": names,
        **manifest,
    }
    write_bytes(place / AUDIT, json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False).encode())
    for name in files(place, TABLE):
        if f"{name}{TABLE}" not in {*names.values(), *kept}:
            remove(place / f"{name}{TABLE}")
    return _audit(place, whole)


def _files_of(place: StoreLocation) -> tuple[str, ...]:
    """Returns the files that the current manifest names, () if there is no readable manifest."""
    if not exists(place / AUDIT):
        return ()
    try:
        return tuple(map(str, json.loads(read_bytes(place / AUDIT))["files"].values()))
    except (UsageError, ValueError, KeyError, TypeError, AttributeError):
        return ()


def audit_place(root: StoreLocation, day: date, run: str) -> StoreLocation:
    return root / f"v{VERSION}" / AUDITS / f"date={day.isoformat()}" / f"run={run_name(run)}"


def audits(root: StoreLocation, since: date | None = None, *, damaged: list[str] | None = None) -> tuple[Audit, ...]:
    """Returns the complete audits since a day, oldest first.

    Audits that cannot be read are skipped and described in `damaged`; without that list UsageError is raised.
    """
    top = root / f"v{VERSION}" / AUDITS
    found = []
    for _, _, place in run_folders(top, lambda day: since is None or day >= since):
        if exists(place / AUDIT):
            with left_out(damaged):
                found.append(read_audit(place))
    return tuple(sorted(found, key=lambda a: a.order))


def read_audit(place: StoreLocation) -> Audit:
    """Raises UsageError if the manifest is missing, damaged, or written by a newer kfix."""
    try:
        manifest = json.loads(read_bytes(place / AUDIT))
        if manifest["format"] != FORMAT or manifest["version"] > VERSION:
            raise UsageError(f"{place / AUDIT}: is not an audit that this version of kfix can read")
        return _audit(place, manifest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{place / AUDIT}: is damaged: {type(error).__name__} at {error}") from None


def _audit(place: StoreLocation, manifest: Mapping[str, Any]) -> Audit:
    names, earlier = manifest["files"], manifest.get("previous")
    unread = manifest.get("could_not_read", {})
    return Audit(
        place,
        date.fromisoformat(manifest["date"]),
        str(manifest["run"]),
        float(manifest["began"]),
        str(place / str(names[FINDINGS])),
        str(place / str(names[CLUSTERS])),
        manifest,
        tuple(map(str, manifest.get("clusters_named", ()))),
        {str(n): date.fromisoformat(d) for n, d in manifest.get("last_read", {}).items()},
        {str(n): str(i) for n, i in manifest.get("cluster_ids", {}).items()},
        (date.fromisoformat(earlier["date"]), str(earlier["run"])) if earlier else None,
        tuple(MuteSeen(**mute | {"until": date.fromisoformat(mute["until"])}) for mute in manifest.get("mutes", ())),
        tuple(f"{cluster}: {source}" for cluster, sources in sorted(unread.items()) for source in sources),
    )
