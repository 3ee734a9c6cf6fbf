"""Reads complete runs: what they collected, and where each of their clusters is in the tables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow.parquet as pq

from kfix.core.errors import UsageError
from kfix.core.harmless import lines
from kfix.fleet.store.delta import StoreTable, TableFile
from kfix.fleet.store.footers import parquet_file, read_table
from kfix.fleet.store.places import (
    StoreLocation,
    left_out,
    place_of,
    readable_errors,
    run_name,
)
from kfix.fleet.store.schema import VERSION
from kfix.fleet.store.spec import TableSpec
from kfix.fleet.store.tables import PARTITIONS, RUNS, SNAPSHOTS


@dataclass(frozen=True, slots=True)
class StoredCluster:
    """Where a cluster of a run is: a file of `partitions` (a path or URL), and its row in a file of `snapshots`.

    `groups` are the row groups of the cluster, None where the file has no other cluster.
    """

    name: str
    partitions: str
    document: str
    row: int
    groups: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A complete run. `clusters` maps names to the number of partitions, `failed` maps names to the reason.

    `began` and `ended` are in seconds since the epoch.
    """

    root: StoreLocation
    day: date
    id: str
    began: float
    ended: float
    kfix: str
    clusters: Mapping[str, int]
    failed: Mapping[str, str] = field(default_factory=dict)
    #: The whole manifest, with the extra fields that `finish` was given: durations, inputs, versions.
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> tuple[date, float, str]:
        """By which runs are ordered: their names may sort in another way than their times."""
        return (self.day, self.began, self.id)

    def _files(self, spec: TableSpec) -> list[TableFile]:
        return StoreTable(self.root, spec).files(lambda day, run: (day, run) == (self.day, self.id))

    def ids(self) -> Mapping[str, str]:
        """Returns {cluster: its own id} of the clusters that were read. Raises UsageError if a file cannot be read."""
        rows = (row for each in self._files(SNAPSHOTS) for row in _snapshot_columns(each.place, "cluster_id"))
        return {row["cluster"]: row["cluster_id"] for row in rows if row["cluster_id"]}

    def taken(self) -> Mapping[str, float]:
        """Returns {cluster: when its snapshot was taken}, in seconds since the epoch. Raises as `ids`."""
        rows = (row for each in self._files(SNAPSHOTS) for row in _snapshot_columns(each.place, "taken_at"))
        return {row["cluster"]: row["taken_at"].timestamp() for row in rows if row["taken_at"] is not None}

    def stored(self) -> Mapping[str, StoredCluster]:
        """Returns where each cluster of the run is, by name. Raises UsageError if a file cannot be read."""
        documents = {
            row["cluster"]: (str(each.place), number)
            for each in self._files(SNAPSHOTS)
            for number, row in enumerate(_snapshot_columns(each.place))
        }
        found = {}
        for each in self._files(PARTITIONS):
            for name, groups in _parts(each).items():
                if name in documents:
                    found[name] = StoredCluster(name, str(each.place), *documents[name], groups)
        return dict(sorted(found.items()))


def _parts(file: TableFile) -> Mapping[str, tuple[int, ...] | None]:
    """Returns the row groups of each cluster in a file of `partitions`."""
    if file.clusters is not None and file.clusters[0] == file.clusters[1]:
        return {file.clusters[0]: None}
    found: dict[str, list[int]] = {}
    with readable_errors(file.place), file.place.system.open_input_file(file.place.path) as opened:
        metadata = pq.read_metadata(opened)
        at = metadata.schema.to_arrow_schema().get_field_index("cluster")
        for number in range(metadata.num_row_groups):
            found.setdefault(metadata.row_group(number).column(at).statistics.min, []).append(number)
    return {name: tuple(numbers) for name, numbers in found.items()}


def _snapshot_columns(place: StoreLocation, *more: str) -> list[dict[str, Any]]:
    with readable_errors(place):
        found: list[dict[str, Any]] = read_table(place, columns=["cluster", *more]).to_pylist()
        return found


def is_complete(root: StoreLocation, day: date, run: str) -> bool:
    return (day, run_name(run)) in StoreTable(root, RUNS).runs()


def runs(root: StoreLocation, day: date | None = None, *, damaged: list[str] | None = None) -> tuple[Run, ...]:
    """Returns the complete runs, oldest first.

    Runs that cannot be read are skipped and described in `damaged`; without that list UsageError is raised.
    """
    found = []
    for each in StoreTable(root, RUNS).files(lambda of, _: day in (None, of)):
        with left_out(damaged):
            found.append(read_row(root, each))
    return tuple(sorted(found, key=lambda r: r.order))


def newest_run(root: StoreLocation, day: date | None = None, run: str = "") -> Run:
    """Returns the last complete run, of a day or a name if given.

    Raises UsageError if there is none, or if a run of that day is damaged: an older one must not pass for it.
    """
    there = StoreTable(root, RUNS).files(lambda of, name: day in (None, of) and run in ("", name))
    if not there:
        what = " ".join(["no complete run", *([repr(run)] if run else []), *([f"of {day}"] if day else [])])
        raise UsageError(
            lines(f"{root}: {what}"),
            hint="kfix fleet collect creates one; kfix fleet runs lists the stored runs",
        )
    return max((read_row(root, f) for f in there if f.day == there[-1].day), key=lambda r: r.order)


def read_run(root: StoreLocation, day: date, run: str) -> Run:
    """Raises UsageError if the run is not complete, or damaged."""
    found = StoreTable(root, RUNS).files(lambda of, name: (of, name) == (day, run))
    if not found:
        raise UsageError(f"{root}: no complete run {run!r} of {day}")
    return read_row(root, found[0])


def read_row(root: StoreLocation, file: TableFile) -> Run:
    """Reads a file of the table `runs`. Raises UsageError if it is damaged."""
    with readable_errors(file.place):
        texts = read_table(file.place, columns=["manifest"]).column(0).to_pylist()
    try:
        return run_of(root, file.day, file.run, json.loads(texts[0]))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(f"{file.place}: is damaged: {type(error).__name__} at {error}") from None


def run_of(root: StoreLocation, day: date, run: str, manifest: Mapping[str, Any]) -> Run:
    return Run(
        root,
        day,
        run,
        float(manifest["began"]),
        float(manifest["ended"]),
        str(manifest["kfix"]),
        {str(c): int(n) for c, n in manifest["clusters"].items()},
        {str(c): str(why) for c, why in manifest["failed"].items()},
        dict(manifest),
    )


def read_stored_document(cluster: StoredCluster) -> dict[str, Any]:
    """Returns the document of a cluster of a complete run. Raises UsageError if it is damaged."""
    place = place_of(cluster.document)
    with readable_errors(place), parquet_file(place) as file:
        at, row = 0, cluster.row
        while at < file.num_row_groups and row >= (rows := file.metadata.row_group(at).num_rows):
            at, row = at + 1, row - rows
        if at == file.num_row_groups:
            raise UsageError(f"{place}: has no row {cluster.row}: it is damaged", hint="collect the cluster again")
        found = file.read_row_group(at, columns=["cluster", "document"], use_threads=False).slice(row, 1).to_pylist()[0]
    if found.get("cluster") != cluster.name or found.get("document") is None:
        raise UsageError(f"{place}: row {cluster.row} is not {cluster.name}: it is damaged", hint="collect it again")
    return parsed(found["document"], f"{place}: {cluster.name}")


def parsed(text: str | bytes, where: str) -> dict[str, Any]:
    """Returns a document. Raises UsageError, which names `where`, if it is damaged."""
    try:
        document = json.loads(text)
        if document["format"] != "kfix.fleet-cluster" or document["version"] > VERSION:
            raise UsageError(f"{where}: is not a cluster that this version of kfix can read")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(where, error) from None
    return dict(document)


def damaged(where: str, error: BaseException) -> UsageError:
    return UsageError(f"{where}: is damaged: {type(error).__name__}: {error}", hint="collect the cluster again")
