"""Puts what `kfix watch` recorded into the history of a store: each change of a partition, with its time.

The rows are in `partition_changes`, in runs of their own, one for each cluster and day: an audit replaces none of them.
A change that is there already is not added again, so that a ring can be read as often as one likes while it is written.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.errors import UsageError
from kfix.core.inventory.model import Inventory
from kfix.core.recorder.reading import Recording
from kfix.core.snapshot.snapshot import Snapshot
from kfix.fleet.collect.importing import name_of, named_path, names_by_id
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.history.changes import IDENTITY, STATES, Eligible, Observed, changes
from kfix.fleet.history.reading_sql import PARTITION_HISTORY
from kfix.fleet.history.recording import last_reading
from kfix.fleet.store.audits import audits
from kfix.fleet.store.delta import StoreTable, TableFile
from kfix.fleet.store.footers import read_table
from kfix.fleet.store.history_tables import BY_WATCH, FIRST, PARTITION_CHANGES
from kfix.fleet.store.places import StoreLocation, place_of, readable_errors
from kfix.fleet.store.rows import states_of_partitions
from kfix.fleet.store.schema import PARTITIONS
from kfix.fleet.store.spec import rows_table
from kfix.fleet.store.staging import RunTable
from kfix.fleet.store.stored import stored_rows
from kfix.fleet.store.storelock import locked
from kfix.fleet.store.tables import TOPICS

_TOPICS: Final = pa.schema([TOPICS.file_schema.field(name).remove_metadata() for name in IDENTITY])
#: The files of a day and cluster that are merged into one.
_SMALL_FILES: Final = 16
#: What tells a recorded change from all others. Its time does not: it is moved if the clock of the host is set later.
_KEY: Final = ("record", "topic", "partition", "leader", "epoch", "version")


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a ring: its snapshots, the changes that were added, and those that the store had. `problems` are
    sentences about parts that cannot be read.
    """

    cluster: str
    snapshots: int
    added: int
    there: int
    problems: tuple[str, ...]


def ingest_rings(place: str, given: Sequence[str], inventory: Inventory) -> tuple[Ingested, ...]:
    """Adds the changes of recordings, each given as FOLDER or NAME=FOLDER.

    Without a name a cluster has the one that the inventory, or the last audit of the store, has for its id. Raises
    UsageError for the first folder that holds no recording, HeldError if an audit uses this store.
    """
    root = place_of(place)
    with locked(place, creates=True):
        known = names_by_id(root, inventory)
        return tuple(_Ring(root, text, known, inventory).ingest() for text in given)


class _Ring:
    def __init__(self, root: StoreLocation, text: str, known: Mapping[str, str], inventory: Inventory) -> None:
        name, path = named_path(text)
        self._recording = Recording(Path(path))
        first = next((r.snapshot for r in self._recording.records() if r.snapshot is not None), None)
        if first is None:
            raise UsageError(f"{path}: holds no intact snapshot")
        self._root = root
        self._first = first
        self._cluster = name_of(first.cluster.id, name, path, known, inventory)
        self._table = StoreTable(root, PARTITION_CHANGES)
        self._run = f"watch-{hashlib.sha256(self._cluster.encode()).hexdigest()[:8]}"

    def ingest(self) -> Ingested:
        there = self._files()
        known = self._known(there)
        found = [rows for rows in self._changes(there) if rows.num_rows]
        rows = pa.concat_tables([*found, PARTITION_CHANGES.file_schema.empty_table()])
        new = rows.filter(pa.array([key not in known for key in _keys(rows)], pa.bool_()))
        days = pc.cast(new["valid_from"], pa.date32())
        for day in sorted(pc.unique(days).to_pylist()):
            self._append(day, new.filter(pc.equal(days, pa.scalar(day))))
        problems = tuple(dict.fromkeys(self._recording.problems))
        return Ingested(self._cluster, self._recording.snapshots, new.num_rows, rows.num_rows - new.num_rows, problems)

    def _files(self) -> list[TableFile]:
        """Returns the files with changes of this cluster, under any name that it had."""
        return [f for f in self._table.files() if f.clusters is None or f.clusters[0] <= self._cluster <= f.clusters[1]]

    def _known(self, there: Iterable[TableFile]) -> set[tuple[Any, ...]]:
        """Returns the keys of the changes that the store has of this cluster and its watch."""
        sql = f"SELECT {', '.join(_KEY)}, isr FROM p WHERE cluster = {_text(self._cluster)} AND source = '{BY_WATCH}'"  # noqa: S608
        return {*_keys(EmbeddedEngine(1).query(sql, {"p": stored_rows(self._root, PARTITION_CHANGES, there)}))}

    def _changes(self, there: Iterable[TableFile]) -> Iterator[Any]:
        """Yields the rows of each recorded snapshot that differs from the one before."""
        before, last = self._last_known(there), None
        for record in self._recording.records():
            snapshot = record.snapshot
            if snapshot is None:
                continue
            at_ms = round(record.at * 1000)
            if before is not None and last is not None and (record.quiet or _is_same(last, snapshot)):
                before = replace(before, at_ms=at_ms)
                continue
            now = observed(snapshot, at_ms)
            if now.states.num_rows:
                yield changes(self._cluster, before, now, why=FIRST, record=record.sequence).rows
                before, last = now, snapshot

    def _last_known(self, there: Iterable[TableFile]) -> Observed | None:
        """Returns the states before the recording, as far as the store has them."""
        at = self._recording.since
        moment = f"TIMESTAMPTZ '{datetime.fromtimestamp(at, UTC).isoformat()}'"
        sql = (
            f"SELECT * FROM ({PARTITION_HISTORY}) h WHERE cluster = {_text(self._cluster)} AND why <> 'deleted' "  # noqa: S608
            f"AND valid_from <= {moment} AND (valid_to IS NULL OR valid_to > {moment}) ORDER BY topic, partition"
        )
        rows = EmbeddedEngine(1).query(sql, {"partition_changes": stored_rows(self._root, PARTITION_CHANGES, there)})
        if not rows.num_rows:
            return None
        seen = [a for a in audits(self._root, damaged=[]) if a.began <= at]
        began = [audit.began for audit in last_reading(seen, [self._cluster]).values()]
        latest = max(pc.max(rows["valid_from"]).as_py().timestamp(), *began, 0.0)
        return Observed(round(latest * 1000), _states_in(rows), _topics_in(rows))

    def _append(self, day: date, rows: Any) -> None:
        """Commits the rows together with those that this run of the day has."""
        files = self._table.files(lambda of, run: (of, run) == (day, self._run))
        if len(files) >= _SMALL_FILES:
            rows, files = pa.concat_tables([*map(_read, files), rows]), []
        new = RunTable.at(self._root, PARTITION_CHANGES, day, self._run)(iter(rows.to_batches()))
        self._table.replace(day, self._run, [*files, *new])


def _keys(rows: Any) -> Iterator[tuple[Any, ...]]:
    isr = (None if each is None else tuple(each) for each in rows["isr"].to_pylist())
    return zip(*(rows[name].to_pylist() for name in _KEY), isr, strict=True)


def _read(file: TableFile) -> Any:
    with readable_errors(file.place):
        return read_table(file.place, schema=PARTITION_CHANGES.file_schema)


def observed(snapshot: Snapshot, at_ms: int) -> Observed:
    states = states_of_partitions(snapshot).select([*STATES])
    created = {} if snapshot.zookeeper is None else snapshot.zookeeper.topics_created
    names = pc.unique(states["topic"]).to_pylist()
    topics = rows_table(_TOPICS, ((name, created.get(name), snapshot.topic_ids.get(name)) for name in names))
    return Observed(at_ms, states, topics, partial(_eligible, snapshot))


def _eligible(snapshot: Snapshot) -> Eligible:
    return {} if snapshot.quorum is None else {tp: each.replicas for tp, each in snapshot.quorum.eligible.items()}


def _is_same(before: Snapshot, now: Snapshot) -> bool:
    """Whether all sources show the same of the partitions; without decoding them, which takes much longer."""
    one, other = before.zookeeper, now.zookeeper
    if (one is None) != (other is None) or before.topic_ids != now.topic_ids or before.views.keys() != now.views.keys():
        return False
    recorded = one is None or other is None or (one.states == other.states and one.assignments == other.assignments)
    return recorded and all(view.partitions == now.views[b].partitions for b, view in before.views.items())


def _states_in(rows: Any) -> Any:
    """Returns states of the history as those of a snapshot."""
    recorded = pc.is_valid(rows["version"])
    given = {
        **{name: rows[name] for name in ("topic", "partition", "replicas")},
        "leader": pc.fill_null(rows["leader"], -2),
        "leader_epoch": pc.fill_null(rows["epoch"], -2),
        "n_views": pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows),
        "seen_isr": rows["isr"],
        "state_version": rows["version"],
        "state_epoch": pc.if_else(recorded, rows["epoch"], None),
    }
    columns = (given.get(name, pa.nulls(rows.num_rows, PARTITIONS.field(name).type)) for name in STATES)
    return pa.table([*columns], names=[*STATES])


def _topics_in(rows: Any) -> Any:
    ids = dict(zip(rows["topic"].to_pylist(), rows["topic_id"].to_pylist(), strict=True))
    return rows_table(_TOPICS, ((topic, None, known) for topic, known in ids.items()))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
