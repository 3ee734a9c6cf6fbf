"""Records what changed in the partitions of a run since the run before: rows of `partition_changes`.

A worker or a task of Spark reads the columns of both snapshots of a cluster, compares them row by row, and writes what
differs; rows that are equal are never more than a column in its memory. Neither a join nor a shuffle is needed, since
each cluster is sorted in its file (docs/adr/056).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kfix.core.errors import KfixError
from kfix.core.saved.files import decode
from kfix.fleet.engine import Engine
from kfix.fleet.history.changes import IDENTITY, STATES, Eligible, Observed, changes
from kfix.fleet.store.audits import Audit
from kfix.fleet.store.columns import Columns
from kfix.fleet.store.delta import NewFile, StoreTable
from kfix.fleet.store.history_tables import FIRST, PARTITION_CHANGES, SEEN
from kfix.fleet.store.places import place_of, readable_errors
from kfix.fleet.store.runs import Run, StoredCluster, read_run, read_stored_document
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.tables import TOPICS

#: The partitions that one task compares, at least, and the most tasks of a run: each writes a file.
_ROWS_A_TASK: Final = 250_000
_MOST_TASKS: Final = 16


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """Where the snapshot of a cluster is: its partitions, and the files of `topics` of its run."""

    stored: StoredCluster
    taken_at: float
    topics: tuple[str, ...]

    def observed(self) -> Observed:
        """Raises KfixError if a file is damaged or cannot be read."""
        columns = Columns(place_of(self.stored.partitions), STATES, self.stored.groups)
        states = columns.table(STATES)
        topics = _topics(self.topics, self.stored.name)
        return Observed(round(self.taken_at * 1000), states, topics, partial(_eligible, self.stored))


@dataclass(frozen=True, slots=True)
class Compared:
    """A cluster of a run, and the snapshot that it is compared with. `why` is the reason of all rows without one."""

    cluster: str
    now: StoredSnapshot
    before: StoredSnapshot | None
    why: str


@dataclass(frozen=True)
class Written:
    """What was written: the files, the topics of each cluster that were created again, and by cluster what failed."""

    files: tuple[NewFile, ...] = ()
    recreated: Mapping[str, frozenset[str]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteChanges:
    """Compares clusters, which are sorted by name, and writes their changes as one file. A cluster that fails is an
    error and spoils no other.
    """

    table: RunTable

    def __call__(self, clusters: Sequence[Compared]) -> Written:
        recreated: dict[str, frozenset[str]] = {}
        errors: dict[str, str] = {}

        def rows() -> Iterator[Any]:
            for each in clusters:
                try:
                    before = None if each.before is None else each.before.observed()
                    found = changes(each.cluster, before, each.now.observed(), why=each.why)
                except KfixError as error:
                    errors[each.cluster] = str(error)
                    continue
                if found.recreated:
                    recreated[each.cluster] = found.recreated
                yield from found.rows.to_batches()

        return Written(self.table(rows()), recreated, errors)


def partition_changes(run: Run, pairs: Mapping[str, Audit], known: Iterable[str], engine: Engine) -> Written:
    """Writes the changes of the clusters of a run since the audited runs in `pairs`.

    `known` are the clusters that any earlier audit names.
    """
    before = _snapshots_before(run, pairs)
    named, now = frozenset(known), _snapshots(run)
    tasks = [
        Compared(name, snapshot, before.get(name), SEEN if name in named else FIRST) for name, snapshot in now.items()
    ]
    work = WriteChanges(RunTable.of(run, PARTITION_CHANGES))
    size = max(_ROWS_A_TASK, sum(run.clusters.values()) // _MOST_TASKS)
    parts = {f"{part[0].cluster}...": part for part in _parts(tasks, run.clusters, size)}
    return _whole(_done(engine, work, parts))


def _done(engine: Engine, work: WriteChanges, parts: Mapping[str, Sequence[Compared]]) -> Iterator[Written]:
    for done in engine.each(work, parts):
        if done.result is not None:
            yield done.result
        elif len(part := parts[done.name]) > 1:
            # A cluster that ends the process of its worker is lost, and no other.
            yield from _done(engine, work, {each.cluster: [each] for each in part})
        else:
            yield Written(errors={part[0].cluster: done.error})


def _whole(found: Iterable[Written]) -> Written:
    files: list[NewFile] = []
    recreated: dict[str, frozenset[str]] = {}
    errors: dict[str, str] = {}
    for each in found:
        files += each.files
        recreated |= each.recreated
        errors |= each.errors
    return Written(tuple(sorted(files, key=lambda file: file.name)), recreated, errors)


def _parts(tasks: Iterable[Compared], rows: Mapping[str, int], size: int) -> Iterator[list[Compared]]:
    part: list[Compared] = []
    total = 0
    for each in tasks:
        count = rows.get(each.cluster, 0)
        if part and total + count > size:
            yield part
            part, total = [], 0
        part.append(each)
        total += count
    if part:
        yield part


def _snapshots_before(run: Run, pairs: Mapping[str, Audit]) -> Mapping[str, StoredSnapshot]:
    """Returns by cluster the snapshot that it is compared with, under the name that it has now."""
    found: dict[str, StoredSnapshot] = {}
    by_run: dict[tuple[date, str], tuple[Audit, set[str]]] = {}
    for cluster, audit in pairs.items():
        by_run.setdefault(audit.key, (audit, set()))[1].add(cluster)
    for (day, name), (audit, clusters) in by_run.items():
        stored = _snapshots(read_run(run.root, day, name))
        named = {audit.names.get(was, was): each for was, each in stored.items()}
        found |= {cluster: named[cluster] for cluster in clusters & named.keys()}
    return found


def _snapshots(run: Run) -> Mapping[str, StoredSnapshot]:
    """Returns where the clusters of a run are, sorted by name."""
    taken = run.taken()
    topics = StoreTable(run.root, TOPICS).files(lambda day, name: (day, name) == (run.day, run.id))
    return {
        name: StoredSnapshot(
            stored,
            taken.get(name, run.began),
            tuple(str(f.place) for f in topics if f.clusters is None or f.clusters[0] <= name <= f.clusters[1]),
        )
        for name, stored in run.stored().items()
    }


def _topics(places: Iterable[str], cluster: str) -> Any:
    schema = TOPICS.file_schema
    found = schema.empty_table()
    for place in map(place_of, places):
        with readable_errors(place), place.system.open_input_file(place.path) as opened:
            file = pq.ParquetFile(opened, page_checksum_verification=True)
            rows = file.read_row_groups(
                _groups_of(file.metadata, cluster), columns=["cluster", *IDENTITY], use_threads=False
            )
            found = rows.filter(pc.equal(rows["cluster"], cluster))
        if found.num_rows:
            break
    return found.select([*IDENTITY])


def _groups_of(metadata: Any, cluster: str) -> list[int]:
    """Returns the row groups that may have rows of the cluster."""
    known = (metadata.row_group(number).column(0).statistics for number in range(metadata.num_row_groups))
    return [
        n for n, each in enumerate(known) if each is None or not each.has_min_max or each.min <= cluster <= each.max
    ]


def _eligible(stored: StoredCluster) -> Eligible:
    quorum = decode(json.dumps(read_stored_document(stored)["snapshot"]), stored.name).quorum
    return {} if quorum is None else {tp: each.replicas for tp, each in quorum.eligible.items()}
