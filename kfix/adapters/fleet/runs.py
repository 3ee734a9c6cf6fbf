"""Runs of the store. A run is complete once its manifest exists, which is written last."""

from __future__ import annotations

import gzip
import json
import platform
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from kfix import __version__
from kfix.adapters.fleet.places import (
    BEGUN,
    CLUSTERS,
    DOCUMENT,
    MANIFEST,
    PARTITIONS,
    TABLE,
    StoreLocation,
    cluster_name,
    exists,
    file_name,
    files,
    left_out,
    read_bytes,
    run_folders,
    run_place,
    writing,
)
from kfix.adapters.fleet.places import write_bytes as _write_bytes
from kfix.adapters.fleet.rows import stored
from kfix.adapters.fleet.schema import VERSION
from kfix.documents.opening import unpacked
from kfix.errors import StoreError, UnreachableError, UsageError
from kfix.harmless import lines
from kfix.model.cluster.snapshot import Snapshot

FORMAT = "kfix.fleet-run"


@dataclass(frozen=True, slots=True)
class Run:
    """A complete run. `clusters` maps names to the number of partitions, `failed` maps names to the reason.

    `began` and `ended` are in seconds since the epoch.
    """

    place: StoreLocation
    day: date
    id: str
    began: float
    ended: float
    kfix: str
    clusters: Mapping[str, int]
    failed: Mapping[str, str] = field(default_factory=dict)
    #: The whole manifest, with the extra fields that `finish` was given: durations, inputs, versions.
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def table(self, cluster: str) -> str:
        """Returns the path or URL of a cluster's partitions file, the input of a worker task."""
        return str(self.place / PARTITIONS / f"{file_name(cluster)}{TABLE}")

    @property
    def tables(self) -> Mapping[str, str]:
        """Returns the partitions files of all clusters by name, sorted."""
        return {name: self.table(name) for name in sorted(self.clusters)}


def new_id(at: datetime | None = None) -> str:
    """Returns a run name that sorts by time within its day; two runs of the same second get different names."""
    return f"{at or datetime.now(UTC):%H%M%S}-{secrets.token_hex(3)}"


class RunWriter:
    """Writes one run. It can be resumed after a crash until its manifest exists."""

    def __init__(self, root: StoreLocation, day: date, run: str, *, at: float | None = None) -> None:
        """`at` is the time of synthetic snapshots in seconds since the epoch; None means now.

        Raises UsageError if the run is complete.
        """
        self.place = run_place(root, day, run)
        self._day, self._id = day, run
        self._rows: dict[str, int] = {}
        self._at = at
        self._began = self._now()
        if exists(self.place / MANIFEST):
            raise UsageError(f"{self.place}: the run is already complete", hint="choose another name for a new run")

    def _now(self) -> float:
        return datetime.now(UTC).timestamp() if self._at is None else self._at

    def there(self) -> tuple[str, ...]:
        """Returns the clusters that are complete, of this or an earlier attempt: their document is written last."""
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
        if cluster in self._rows:
            self.refuse(cluster)
        self._rows[cluster] = rows = write_snapshot(self.place, cluster, snapshot)
        return rows

    def write_stored(self, cluster: str, table: Any, document: Mapping[str, Any]) -> int:
        if cluster in self._rows:
            self.refuse(cluster)
        name = file_name(cluster)
        rows = write_cluster(self.place, name, table, document)
        self._rows[cluster] = rows
        return rows

    @staticmethod
    def refuse(cluster: str) -> NoReturn:
        raise UsageError(f"two clusters of the run are named {cluster!r}")

    def count(self, cluster: str, rows: int) -> None:
        """Counts a cluster that another process or an earlier attempt has written."""
        self._rows[cluster] = rows

    def finish(self, failed: Mapping[str, str] | None = None, **more: Any) -> Run:
        """Writes the manifest and returns the run. `more` is added unchanged: durations, inputs, versions."""
        for cluster in self.there():
            if cluster not in self._rows:
                self._rows[cluster] = int(read_document(self.place, cluster)["partitions"])
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "kfix": __version__,
            "date": self._day.isoformat(),
            "run": self._id,
            "began": self._began,
            "ended": self._now(),
            "rows": sum(self._rows.values()),
            "clusters": dict(sorted(self._rows.items())),
            "failed": dict(sorted((failed or {}).items())),
            **more,
        }
        _write_bytes(self.place / MANIFEST, json.dumps(manifest, indent=1).encode())
        return _run(self.place, manifest)


def write_snapshot(run: StoreLocation, cluster: str, snapshot: Snapshot) -> int:
    """Writes a snapshot and returns the number of partitions, as `RunWriter.write`; for workers, the parent counts."""
    try:
        table, document = stored(snapshot, cluster)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise UsageError(f"{cluster}: cannot be stored: {str(error).splitlines()[0]}") from None
    return write_cluster(run, file_name(cluster), table, document)


def write_cluster(run: StoreLocation, name: str, table: Any, document: Mapping[str, Any]) -> int:
    """Writes both files and returns the number of partitions. The document is last: it marks the cluster complete."""
    with writing(run / PARTITIONS / f"{name}{TABLE}") as out:
        pq.write_table(table, out, compression="zstd", store_schema=False)
    raw = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    _write_bytes(run / CLUSTERS / f"{name}{DOCUMENT}", gzip.compress(raw, compresslevel=1, mtime=0))
    return int(table.num_rows)


def runs(root: StoreLocation, day: date | None = None, *, damaged: list[str] | None = None) -> tuple[Run, ...]:
    """Returns the complete runs, oldest first. A folder without a manifest is an unfinished run.

    Runs that cannot be read are skipped and described in `damaged`; without that list UsageError is raised.
    """
    top = root / f"v{VERSION}"
    found = []
    for _, _, place in run_folders(top, lambda of: day in (None, of)):
        if exists(place / MANIFEST):
            with left_out(damaged):
                found.append(read_run(place))
    return tuple(sorted(found, key=lambda r: (r.day, r.began, r.id)))


def newest_run(root: StoreLocation, day: date | None = None, run: str = "") -> Run:
    """Returns the last complete run, of a day or a name if given. Raises UsageError if there is none."""
    damaged: list[str] = []
    found = [r for r in runs(root, day, damaged=damaged) if not run or r.id == run]
    if not found:
        what = " ".join(["no complete run", *([repr(run)] if run else []), *([f"of {day}"] if day else [])])
        raise UsageError(
            lines(f"{root}: {what}", *damaged),
            hint="kfix fleet collect creates one; kfix fleet runs lists the stored runs",
        )
    return found[-1]


def read_run(place: StoreLocation) -> Run:
    """Raises UsageError if the manifest is missing, damaged, or written by a newer kfix."""
    try:
        manifest = json.loads(read_bytes(place / MANIFEST))
        if manifest["format"] != FORMAT or manifest["version"] > VERSION:
            raise UsageError(f"{place / MANIFEST}: is not a manifest that this version of kfix can read")
        return _run(place, manifest)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{place / MANIFEST}: is damaged: {type(error).__name__} at {error}") from None


def _run(place: StoreLocation, manifest: Mapping[str, Any]) -> Run:
    return Run(
        place,
        date.fromisoformat(manifest["date"]),
        str(manifest["run"]),
        float(manifest["began"]),
        float(manifest["ended"]),
        str(manifest["kfix"]),
        {str(c): int(n) for c, n in manifest["clusters"].items()},
        {str(c): str(why) for c, why in manifest["failed"].items()},
        dict(manifest),
    )


def read_document(run: StoreLocation, cluster: str) -> dict[str, Any]:
    return parse_document(run / CLUSTERS / f"{file_name(cluster)}{DOCUMENT}")


def parse_document(place: StoreLocation) -> dict[str, Any]:
    try:
        document = json.loads(unpacked(read_bytes(place), str(place)))
        if document["format"] != "kfix.fleet-cluster" or document["version"] > VERSION:
            raise UsageError(f"{place}: is not a cluster that this version of kfix can read")
    except (EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{place}: is damaged: {type(error).__name__}: {error}", hint="collect the cluster again"
        ) from None
    return dict(document)
