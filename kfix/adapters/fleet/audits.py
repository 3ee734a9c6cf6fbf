"""What audits found, as tables of the store: append-only, an audit a folder, one manifest written last.

    <root>/v1/audits/date=YYYY-MM-DD/run=<id>/findings-<attempt>.parquet
    <root>/v1/audits/date=YYYY-MM-DD/run=<id>/clusters-<attempt>.parquet
    <root>/v1/audits/date=YYYY-MM-DD/run=<id>/audit.json

The manifest names the files that count. An audit that is repeated writes new files and then its manifest, so a reader
sees the old one whole until it sees the new one whole; other audits are never touched.
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
    remove,
    run_folders,
    run_name,
    telling,
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
#: Beside the fields of the row: which audit it is of.
_WHEN: Final = (pa.field("day", pa.date32(), nullable=False), pa.field("run", pa.string(), nullable=False))
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Audit:
    """A complete audit. `began` is when its run began to look, seconds since the epoch: audits are ordered by it.

    `clusters_named` are those of its run, read or not; `before` the (day, run) that it was compared with.
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
    before: tuple[date, str] | None = None
    mutes: tuple[MuteSeen, ...] = ()
    could_not_read: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[date, float, str]:
        return (self.day, self.began, self.id)


def schema_of(kind: type) -> Any:
    hints = get_type_hints(kind)
    return pa.schema([*_WHEN, *(pa.field(f.name, _TYPES[hints[f.name]], nullable=False) for f in fields(kind))])


def table_of(kind: type[Row], rows: Iterable[Row], day: date, run: str, names: Sequence[str] | None = None) -> Any:
    """Sorted as they are given; all columns, or those that are named."""
    rows, schema = tuple(rows), schema_of(kind)
    if names is not None:
        schema = pa.schema([schema.field(name) for name in names])
    when = {"day": day, "run": run}
    columns = ([when[n]] * len(rows) if n in when else [getattr(r, n) for r in rows] for n in schema.names)
    return pa.Table.from_arrays([_column(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _column(values: list[Any], kind: Any) -> Any:
    """Text that is no UTF-8 (a lone surrogate of a topic's or a group's name) is escaped."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([*map(_escaped, values)], kind)


def _escaped(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_escaped(v) for v in value]
    return value.encode("utf-8", "backslashreplace").decode()


def read_rows(kind: type[Row], file: str) -> tuple[Row, ...]:
    """The columns of `kind` are looked for by name. UsageError where one is missing or has another type."""
    place = place_of(file)
    wanted = schema_of(kind)
    with telling(place, _REPEAT), place.system.open_input_file(place.path) as opened:
        table = pq.ParquetFile(opened).read()
    check_columns(table.schema, wanted, str(place))
    hints = get_type_hints(kind)
    columns = []
    for f in fields(kind):  # type: ignore[arg-type]
        values = table.column(f.name).to_pylist()
        columns.append([tuple(v) for v in values] if hints[f.name] == tuple[str, ...] else values)
    return tuple(kind(*values) for values in zip(*columns, strict=True))


def check_columns(found: Any, wanted: Any, where: str) -> None:
    for column in wanted:
        at = found.get_field_index(column.name)
        if at < 0:
            raise UsageError(f"{where}: has no column {column.name!r}: it is of another version of kfix, or no audit's")
        kind = found.field(at).type
        same_list = (
            pa.types.is_list(kind) and pa.types.is_list(column.type) and kind.value_type == column.type.value_type
        )
        if kind != column.type and not same_list:
            raise UsageError(f"{where}: column {column.name!r} is {kind}, {column.type} is wanted")


def is_sound(audit: Audit) -> str:
    """Why its score cards cannot be read; "" where they can."""
    place = place_of(audit.clusters)
    try:
        with telling(place), place.system.open_input_file(place.path) as opened:
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
    """`tables` are `findings` and `clusters`. What the attempt before the last one wrote is taken away: who has just
    read the last one's manifest still finds its files.
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
    """What the manifest that counts now names; nothing where there is none, or one that nobody can read."""
    if not exists(place / AUDIT):
        return ()
    try:
        return tuple(map(str, json.loads(read_bytes(place / AUDIT))["files"].values()))
    except (UsageError, ValueError, KeyError, TypeError, AttributeError):
        return ()


def audit_place(root: StoreLocation, day: date, run: str) -> StoreLocation:
    return root / f"v{VERSION}" / AUDITS / f"date={day.isoformat()}" / f"run={run_name(run)}"


def audits(root: StoreLocation, since: date | None = None, *, damaged: list[str] | None = None) -> tuple[Audit, ...]:
    """Complete audits, oldest first. With `damaged` those that cannot be read are told there, and left out."""
    top = root / f"v{VERSION}" / AUDITS
    found = []
    for _, _, place in run_folders(top, lambda day: since is None or day >= since):
        if exists(place / AUDIT):
            with left_out(damaged):
                found.append(read_audit(place))
    return tuple(sorted(found, key=lambda a: a.order))


def read_audit(place: StoreLocation) -> Audit:
    """UsageError where there is no manifest, or one that is damaged or of a newer kfix."""
    try:
        manifest = json.loads(read_bytes(place / AUDIT))
        if manifest["format"] != FORMAT or manifest["version"] > VERSION:
            raise UsageError(f"{place / AUDIT}: is no audit that this kfix reads")
        return _audit(place, manifest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{place / AUDIT}: is damaged: {type(error).__name__} at {error}") from None


def _audit(place: StoreLocation, manifest: Mapping[str, Any]) -> Audit:
    names, earlier = manifest["files"], manifest.get("before")
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
