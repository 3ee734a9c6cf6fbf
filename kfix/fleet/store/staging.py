"""Writes runs: collects into a staging folder, cluster by cluster, then commits the tables.

    <root>/staging/date=YYYY-MM-DD/run=<id>/begun.json                  written first
    <root>/staging/date=YYYY-MM-DD/run=<id>/clusters/<cluster>.json.gz  written last for each cluster
    <root>/tables/partitions/day=YYYY-MM-DD/run=<id>/*.parquet          its partitions, not yet committed

`RunWriter.finish` commits the tables, `runs` last, which makes the run complete. Until then it can be resumed.
"""

from __future__ import annotations

import gzip
import json
import platform
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from itertools import chain
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kfix import __version__
from kfix.core.documents.opening import unpacked
from kfix.core.errors import StoreError, UnreachableError, UsageError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.fleet.store import flat
from kfix.fleet.store.delta import NewFile, StoreTable
from kfix.fleet.store.fact_rows import large_tables, rows_of, small_rows
from kfix.fleet.store.fact_tables import LARGE, SMALL
from kfix.fleet.store.footers import WRITTEN, read_table
from kfix.fleet.store.partition_states import state_rows
from kfix.fleet.store.places import (
    BEGUN,
    CLUSTERS,
    DOCUMENT,
    TABLE,
    StoreLocation,
    cluster_name,
    exists,
    file_name,
    files,
    folders,
    place_of,
    read_bytes,
    readable_errors,
    remove,
    remove_folder,
    run_place,
    writing,
)
from kfix.fleet.store.places import write_bytes as _write_bytes
from kfix.fleet.store.rows import stored
from kfix.fleet.store.runs import Run, damaged, is_complete, parsed, run_of
from kfix.fleet.store.spec import TableSpec
from kfix.fleet.store.tables import (
    BROKERS,
    GROUPS,
    PARTITION_STATES,
    PARTITIONS,
    QUORUM,
    RUNS,
    SNAPSHOTS,
    SOURCES,
    TOPICS,
)

#: Rows of `snapshots` in one row group: reading one document reads this many.
_DOCUMENTS: Final = 8
#: The most rows of a row group of the other tables: reading the topics of some clusters reads little of the others.
_GROUP: Final = 16_384
_AT_ONCE: Final = 16
#: What the rows of the tables are made of.
_STAGED: Final = frozenset(
    {
        "cluster",
        "partitions",
        "topics",
        "snapshot",
        "assigned",
        "holds",
        "by_topic",
        "leads",
        "preferred",
        "failures",
        "by_state",
        "offsets_states",
        "file",
        "size",
    }
)
#: The most rows of a row group of `partitions`: Spark reads a large cluster in several tasks.
ROWS: Final = 50_000
_SMALL: Final[Mapping[TableSpec, Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]]]] = {
    PARTITION_STATES: state_rows,
    TOPICS: flat.topic_rows,
    BROKERS: flat.broker_rows,
    GROUPS: flat.group_rows,
    QUORUM: flat.quorum_rows,
    SOURCES: flat.source_rows,
    **{spec: partial(rows_of, spec) for spec in SMALL},
}


def new_id(at: datetime | None = None) -> str:
    """Returns a run name that sorts by time within its day; two runs of the same second get different names."""
    return f"{at or datetime.now(UTC):%H%M%S}-{secrets.token_hex(3)}"


class RunWriter:
    """Writes one run. It can be resumed after a crash until it is complete."""

    def __init__(
        self, root: StoreLocation, day: date, run: str, *, at: float | None = None, to: Run | None = None
    ) -> None:
        """`at` is the time of synthetic and imported snapshots in seconds since the epoch; None means now.

        `to` is this run if it is complete and more clusters are added to it. Raises UsageError if the run is complete.
        """
        self.place = run_place(root, day, run)
        self._root, self._day, self._id = root, day, run
        self._at = at
        self._to = to
        self._began = self._now()
        if to is None and is_complete(root, day, run):
            raise UsageError(f"{root}: the run {run!r} of {day} is complete", hint="choose another name for a new run")

    def _now(self) -> float:
        return datetime.now(UTC).timestamp() if self._at is None else self._at

    def there(self) -> tuple[str, ...]:
        """Returns the clusters that are stored, by this or an earlier attempt."""
        return tuple(cluster_name(n) for n in files(self.place / CLUSTERS, DOCUMENT))

    def begin(self) -> None:
        """Writes the start marker of the run, so that it is listed as unfinished.

        A resumed run keeps the marker and the time of its first attempt. Raises StoreError if the store cannot be
        written, before any cluster is read.
        """
        try:
            if exists(self.place / BEGUN):
                self._began = float(json.loads(read_bytes(self.place / BEGUN))["began"])
                return
            mark = {"began": self._began, "kfix": __version__, "host": platform.node()}
            _write_bytes(self.place / BEGUN, json.dumps(mark).encode())
        except UnreachableError as error:
            raise StoreError(str(error)) from None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.place / BEGUN}: is damaged: {error}", hint="choose another name") from None

    def write(self, cluster: str, snapshot: Snapshot) -> int:
        """Returns the number of partitions. Raises UsageError for a value that is not valid in Kafka."""
        if cluster in self.there():
            self.refuse(cluster)
        return write_snapshot(self.place, cluster, snapshot)

    @staticmethod
    def refuse(cluster: str) -> NoReturn:
        raise UsageError(f"two clusters of the run are named {cluster!r}")

    def finish(self, failed: Mapping[str, str] | None = None, **more: Any) -> Run:
        """Commits the tables and returns the run. `more` is added to the manifest: durations, inputs, versions."""
        unread = dict(sorted((failed or {}).items()))
        names = self.there()
        with ThreadPoolExecutor(_AT_ONCE, "kfix-read") as threads:
            documents = list(threads.map(lambda name: read_document(self.place, name), names))
        manifest = {
            "began": self._began,
            "ended": self._now(),
            "kfix": __version__,
            "clusters": {d["cluster"]: int(d["partitions"]) for d in documents},
            "failed": unread,
            **more,
        }
        if self._to is not None:
            manifest["clusters"] = dict(sorted({**self._to.clusters, **manifest["clusters"]}.items()))
        self._commit(documents, unread, manifest)
        remove_staged(self.place)
        return run_of(self._root, self._day, self._id, manifest)

    def _commit(self, documents: list[dict[str, Any]], unread: Mapping[str, str], manifest: Mapping[str, Any]) -> None:
        day, run = self._day, self._id
        self._commit_files(
            PARTITIONS, [NewFile(d["file"], d["size"], d["partitions"], (d["cluster"],) * 2) for d in documents]
        )
        for spec in LARGE:
            written = ((d["cluster"], d.get("large", {}).get(spec.name)) for d in documents)
            files = [NewFile(str(of[0]), int(of[1]), int(of[2]), (c, c)) for c, of in written if of]
            self._commit_files(spec, files)
        for spec, rows in _SMALL.items():
            self._replace(spec, (row for document in documents for row in rows(document)))
        taken = manifest.get("entries", {})
        clusters = [
            *map(flat.snapshot_row, documents),
            *(flat.unread_row(name, why, taken.get(name, {}).get("seconds", 0.0)) for name, why in unread.items()),
        ]
        self._replace(SNAPSHOTS, sorted(clusters, key=lambda row: row["cluster"]), group=_DOCUMENTS)
        replace_run(self._root, RUNS, day, run, flat.table_of(RUNS, [_run_row(manifest)]))

    def _commit_files(self, spec: TableSpec, new: Sequence[NewFile]) -> None:
        """Commits files with a cluster each; clusters that were there before stay."""
        table, names = StoreTable(self._root, spec), {file.name for file in new}
        old = () if self._to is None else (f for f in table.files(self._here) if f.name not in names)
        files = (*new, *old)
        if files or spec is PARTITIONS:
            table.replace(self._day, self._id, files)

    def _here(self, day: date, run: str) -> bool:
        return (day, run) == (self._day, self._id)

    def _replace(self, spec: TableSpec, rows: Iterable[Mapping[str, Any]], *, group: int = _GROUP) -> None:
        table = flat.table_of(spec, rows)
        if spec in SMALL and not table.num_rows and self._to is None:
            return  # Snapshots without these facts: each commit costs time.
        if self._to is not None:
            # The rows of clusters that were there, without those of an attempt before this one, and of unread ones.
            kept = {*self._to.clusters} - {*self.there()}
            for file in StoreTable(self._root, spec).files(self._here):
                with readable_errors(file.place):
                    old = read_table(file.place, schema=spec.file_schema)
                old = old.filter(pc.is_in(old["cluster"], pa.array([*kept], pa.string())))
                table = pa.concat_tables([table, old])
            table = table.sort_by("cluster")
        replace_run(self._root, spec, self._day, self._id, table, group=group)


def remove_staged(place: StoreLocation) -> None:
    """Deletes the staging folder of a run, and that of its day if it was the last one."""
    remove_folder(place)
    if not folders(place.parent, "run="):
        remove_folder(place.parent)


def replace_run(
    root: StoreLocation, spec: TableSpec, day: date, run: str, rows: Any, *, group: int | None = None
) -> list[NewFile]:
    """Replaces the rows of one run in a small table and returns the new file, [] if there are no rows.

    `group` is the most rows of a row group.
    """
    table = StoreTable(root, spec)
    new = [] if not rows.num_rows else [write_file(table.folder(day, run), spec.name, rows, group=group)]
    table.replace(day, run, new)
    return new


@dataclass(frozen=True, slots=True)
class RunTable:
    """Writes rows of one run for a table, wherever they are computed; no reader sees them before they are committed."""

    root: str
    spec: TableSpec
    day: date
    run: str

    @classmethod
    def of(cls, run: Run, spec: TableSpec) -> RunTable:
        return cls.at(run.root, spec, run.day, run.id)

    @classmethod
    def at(cls, root: StoreLocation, spec: TableSpec, day: date, run: str) -> RunTable:
        return cls(root.path if root.local else str(root), spec, day, run)

    def remove(self, files: Iterable[NewFile]) -> None:
        """Deletes files that are not committed."""
        for file in files:
            remove(StoreTable(place_of(self.root), self.spec).folder(self.day, self.run) / file.name)

    def __call__(self, batches: Iterator[Any]) -> tuple[NewFile, ...]:
        """Writes record batches, which are sorted by cluster, as one file; none if they have no rows."""
        schema = self.spec.file_schema
        place = StoreTable(place_of(self.root), self.spec).folder(self.day, self.run) / _new_name(self.spec.name)
        filled = (pa.Table.from_batches([b]).select(schema.names).cast(schema) for b in batches if b.num_rows)
        first: Any = next(filled, None)
        if first is None:
            return ()
        last, rows = first, 0
        with writing(place) as out, pq.ParquetWriter(out, schema, **WRITTEN) as file:
            for last in chain([first], filled):
                file.write_table(last)
                rows += last.num_rows
        size = place.system.get_file_info(place.path).size
        clusters = (first["cluster"][0].as_py(), last["cluster"][-1].as_py())
        return (NewFile(place.name, size, rows, clusters),)


def _new_name(table: str) -> str:
    return f"{table}-{secrets.token_hex(4)}{TABLE}"


def write_file(folder: StoreLocation, name: str, rows: Any, *, group: int | None = None) -> NewFile:
    """Writes one file under a name that is used only once; no reader sees it before it is committed."""
    place = folder / _new_name(name)
    with writing(place) as out:
        pq.write_table(rows, out, row_group_size=group, **WRITTEN)
    size = place.system.get_file_info(place.path).size
    clusters = None
    if rows.num_rows and "cluster" in rows.column_names:
        clusters = (rows["cluster"][0].as_py(), rows["cluster"][-1].as_py())
    return NewFile(place.name, size, rows.num_rows, clusters)


def _run_row(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "began": datetime.fromtimestamp(manifest["began"], UTC),
        "ended": datetime.fromtimestamp(manifest["ended"], UTC),
        "kfix": manifest["kfix"],
        "clusters": len(manifest["clusters"]),
        "failed": len(manifest["failed"]),
        "partitions": sum(manifest["clusters"].values()),
        "manifest": json.dumps(manifest, allow_nan=False),
    }


def write_snapshot(run: StoreLocation, cluster: str, snapshot: Snapshot) -> int:
    """Writes a snapshot and returns the number of partitions, as `RunWriter.write`; for workers, the parent counts."""
    try:
        table, document = stored(snapshot, cluster)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise UsageError(f"{cluster}: cannot be stored: {str(error).splitlines()[0]}") from None
    document["facts"] = small_rows(snapshot, cluster)
    document["large"] = {}
    for spec, rows in large_tables(snapshot, cluster).items():
        if not rows.num_rows:
            continue
        file = write_file(_folder_of(run, spec), file_name(cluster), rows, group=ROWS)
        document["large"][spec.name] = (file.name, file.size, file.rows)
    return write_cluster(run, cluster, table, document)


def _folder_of(run: StoreLocation, spec: TableSpec) -> StoreLocation:
    """Returns the folder for the rows of a run that is being written."""
    day, name = run.path.rpartition("/date=")[2].split("/run=")
    return StoreTable(run.parent.parent.parent, spec).folder(date.fromisoformat(day), name)


def write_cluster(run: StoreLocation, cluster: str, table: Any, document: Mapping[str, Any]) -> int:
    """Writes partitions and document and returns the number of partitions. The document is last: it marks the cluster
    as stored.
    """
    rows = table.add_column(0, PARTITIONS.file_schema.field(0), pa.repeat(pa.scalar(cluster), table.num_rows))
    file = write_file(_folder_of(run, PARTITIONS), file_name(cluster), rows.cast(PARTITIONS.file_schema), group=ROWS)
    whole = {**document, **flat.counted(table), "file": file.name, "size": file.size}
    raw = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
    _write_bytes(run / CLUSTERS / f"{file_name(cluster)}{DOCUMENT}", gzip.compress(raw, compresslevel=1, mtime=0))
    return int(table.num_rows)


def read_document(run: StoreLocation, cluster: str) -> dict[str, Any]:
    """Returns the document of a staged cluster. Raises UsageError if it is damaged."""
    place = run / CLUSTERS / f"{file_name(cluster)}{DOCUMENT}"
    try:
        document = parsed(unpacked(read_bytes(place), str(place)), str(place))
    except (EOFError, zlib.error) as error:
        raise damaged(str(place), error) from None
    if gone := _STAGED - document.keys():
        raise damaged(str(place), KeyError(min(gone)))
    return document
