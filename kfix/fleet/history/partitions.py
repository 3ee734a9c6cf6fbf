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
from functools import lru_cache, partial
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from kfix.core.errors import KfixError
from kfix.core.saved.files import decode
from kfix.fleet.history.changes import IDENTITY, STATES, Eligible, Observed, changes
from kfix.fleet.store.audits import Audit
from kfix.fleet.store.columns import Columns
from kfix.fleet.store.delta import NewFile, StoreTable
from kfix.fleet.store.footers import read_table
from kfix.fleet.store.history_tables import FIRST, SEEN
from kfix.fleet.store.places import place_of, readable_errors
from kfix.fleet.store.runs import Run, StoredCluster, read_run, read_stored_document
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.tables import TOPICS


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """Where the snapshot of a cluster is: its partitions, and the files of `topics` of its run."""

    stored: StoredCluster
    taken_at: float
    topics: tuple[str, ...]

    def observed(self, part: Sequence[str]) -> Observed:
        """Returns its state; `part` are the clusters of which the topics are read at once.

        Raises KfixError if a file is damaged or cannot be read.
        """
        columns = Columns(place_of(self.stored.partitions), STATES, self.stored.groups)
        states = columns.table(STATES)
        topics = _topics(self.topics, self.stored.name, tuple(part))
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

    def plus(self, other: Written) -> Written:
        recreated, errors = {**self.recreated, **other.recreated}, {**self.errors, **other.errors}
        return Written((*self.files, *other.files), recreated, errors)


@dataclass(frozen=True, slots=True)
class WriteChanges:
    """Compares clusters, which are sorted by name, and writes their changes as one file. A cluster that fails is an
    error and spoils no other.
    """

    table: RunTable

    def __call__(self, clusters: Sequence[Compared]) -> Written:
        recreated: dict[str, frozenset[str]] = {}
        errors: dict[str, str] = {}

        names = sorted({seen.stored.name for each in clusters for seen in (each.now, each.before) if seen is not None})

        def rows() -> Iterator[Any]:
            for each in clusters:
                try:
                    before = None if each.before is None else each.before.observed(names)
                    found = changes(each.cluster, before, each.now.observed(names), why=each.why)
                except KfixError as error:
                    errors[each.cluster] = str(error)
                    continue
                if found.recreated:
                    recreated[each.cluster] = found.recreated
                yield from found.rows.to_batches()

        return Written(self.table(rows()), recreated, errors)


def compared_snapshots(run: Run, pairs: Mapping[str, Audit], known: Iterable[str]) -> Mapping[str, Compared]:
    """Returns the clusters of a run, each with its snapshot of the audited run in `pairs`.

    `known` are the clusters that any earlier audit names.
    """
    before, named = _snapshots_before(run, pairs), frozenset(known)
    return {
        name: Compared(name, snapshot, before.get(name), SEEN if name in named else FIRST)
        for name, snapshot in _snapshots(run).items()
    }


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


def _topics(places: Iterable[str], cluster: str, part: tuple[str, ...]) -> Any:
    for place in places:
        rows = _topics_of(place, part)
        rows = rows.filter(pc.equal(rows["cluster"], cluster)).select([*IDENTITY])
        if rows.num_rows:
            return rows
    return TOPICS.file_schema.empty_table().select([*IDENTITY])


@lru_cache(2)
def _topics_of(text: str, part: tuple[str, ...]) -> Any:
    """Reads the topics of some clusters; the last two files are kept: those of the snapshots before and now."""
    place, wanted = place_of(text), ds.field("cluster").isin([*part])
    with readable_errors(place):
        return read_table(place, columns=["cluster", *IDENTITY], filters=wanted, use_threads=False)


def _eligible(stored: StoredCluster) -> Eligible:
    quorum = decode(json.dumps(read_stored_document(stored)["snapshot"]), stored.name).quorum
    return {} if quorum is None else {tp: each.replicas for tp, each in quorum.eligible.items()}
