"""The runs of a store: lists them, deletes old ones and old audits, and merges the small files of a run."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.errors import UsageError
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.engines.engine import View
from kfix.fleet.history.reading_sql import LAST_STATES
from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.fact_tables import LARGE
from kfix.fleet.store.footers import read_table
from kfix.fleet.store.history_tables import PARTITION_CHANGES
from kfix.fleet.store.listing import Listed, listed
from kfix.fleet.store.places import (
    STAGING,
    StoreLocation,
    place_of,
    readable_errors,
    run_folders,
    run_place,
    size_of,
)
from kfix.fleet.store.spec import TableSpec
from kfix.fleet.store.staging import ROWS, RunTable, remove_staged
from kfix.fleet.store.stored import stored_rows
from kfix.fleet.store.storelock import locked
from kfix.fleet.store.tables import ALL, AUDITED, AUDITS, COLLECTED, PARTITIONS, RUNS

#: Hours for which files stay that no commit names any more, for readers that have just opened a table.
_GRACE = 24
#: The clusters whose changes are thinned out at once.
_AT_ONCE = 64
#: The tables of which an old audit loses its rows. Of the states of partitions those stay that have not ended since.
_JUDGED = tuple(spec for spec in AUDITED if spec is not PARTITION_CHANGES)
_KEEP = re.compile(r"([1-9][0-9]{0,4})d")


@dataclass(frozen=True, slots=True)
class Old:
    """The snapshots of a run, or an audit. An unfinished run is not `complete`; `size` is in bytes."""

    kind: str
    day: date
    run: str
    complete: bool
    size: int


def stored_runs(place: str, day: date | None) -> tuple[Listed, ...]:
    """Returns the runs of a store, including unfinished ones, oldest first."""
    return listed(place_of(place), day)


def days_of(text: str, option: str = "--keep") -> int:
    """Returns the days of a text such as `90d`. Raises UsageError for anything else, since a wrong unit loses data."""
    found = _KEEP.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option}: {text!r} is not a number of days such as 90d")
    return int(found[1])


def find_old(root: StoreLocation, today: date, keep_snapshots: int, keep_audits: int) -> tuple[Old, ...]:
    """Returns the old runs and audits, oldest first.

    The newest complete run and the newest audit are never included: the next audit is compared with them. Raises
    UsageError if `root` is not a fleet store.
    """
    staged = [*run_folders(root / STAGING)]
    snapshots, audits = _stored(root, "snapshots", RUNS, COLLECTED), _stored(root, "audit", AUDITS, _JUDGED)
    if not (staged or snapshots or audits):
        raise UsageError(f"{root}: is not a fleet store: it has no run")
    complete = {(old.day, old.run) for old in snapshots}
    snapshots += [Old("snapshots", d, run, False, size_of(p)) for d, run, p in staged if (d, run) not in complete]
    found = [
        *_beyond(snapshots, today - timedelta(days=keep_snapshots)),
        *_beyond(audits, today - timedelta(days=keep_audits)),
    ]
    return tuple(sorted(found, key=lambda o: (o.day, o.kind, o.run)))


def delete_old(root: StoreLocation, found: Sequence[Old]) -> None:
    """Deletes rows and files. The row that makes a run complete goes first, so that no reader takes part for all."""
    for old in found:
        for spec in (AUDITS, *_JUDGED) if old.kind == "audit" else (RUNS, *COLLECTED):
            StoreTable(root, spec).remove(old.day, old.run)
        if old.kind != "audit":
            remove_staged(run_place(root, old.day, old.run))
    if days := [old.day for old in found if old.kind == "audit"]:
        _forget(root, max(days))
    for spec in ALL:
        StoreTable(root, spec).clean(_GRACE)


def _forget(root: StoreLocation, until: date) -> None:
    """Deletes the states that ended by then: what the partitions were on that day, and later, stays known."""
    table, engine = StoreTable(root, PARTITION_CHANGES), EmbeddedEngine(1)
    old = table.files(lambda day, _run: day <= until)
    rows = stored_rows(root, PARTITION_CHANGES, old)
    names = engine.query("SELECT DISTINCT cluster FROM c ORDER BY cluster", {"c": rows}).column(0).to_pylist()
    kept: dict[tuple[date, str], list[NewFile]] = {(file.day, file.run): [] for file in old}
    for part in (names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE)):
        some = View("SELECT a.* FROM all_rows a JOIN named n ON n.cluster = a.cluster")
        given = {"all_rows": rows, "named": pa.table({"cluster": part}), "partition_changes": some}
        found = engine.query(f"{LAST_STATES} ORDER BY cluster, topic, partition", given)
        for (day, run), written in kept.items():
            mine = found.filter(pc.and_(pc.equal(found["day"], day), pc.equal(found["run"], run)))
            written.extend(RunTable.at(root, PARTITION_CHANGES, day, run)(iter(mine.to_batches())))
    for (day, run), written in kept.items():
        table.replace(day, run, written)


def _stored(root: StoreLocation, kind: str, last: TableSpec, specs: Sequence[TableSpec]) -> list[Old]:
    done = StoreTable(root, last).files()
    complete = {(file.day, file.run) for file in done}
    sizes = Counter[tuple[date, str]]()
    for file in chain(done, *(StoreTable(root, spec).files() for spec in specs if spec is not last)):
        sizes[file.day, file.run] += file.size
    return [Old(kind, day, run, (day, run) in complete, size) for (day, run), size in sorted(sizes.items())]


def _beyond(all_: Sequence[Old], first_kept: date) -> Iterable[Old]:
    newest = max((o.day for o in all_ if o.complete), default=None)
    for each in all_:
        if each.day < first_kept and not (each.complete and each.day == newest):
            yield each


#: The most rows and clusters of a merged file: its footer is read as a whole, and has an entry for each row group.
_MOST_ROWS = 2_000_000
_MOST_CLUSTERS = 64


@dataclass(frozen=True, slots=True)
class Compacted:
    """A run whose files were merged: how many they were and are."""

    day: date
    run: str
    before: int
    after: int


def compact(root: StoreLocation) -> Iterator[Compacted]:
    """Merges the files of each run that has small ones, oldest first, and yields it once it is committed.

    Readers that have opened a table before still find its files: they are deleted a day later, by a prune. Raises
    UsageError if a file is damaged; the runs before it are merged.
    """
    tables = [StoreTable(root, spec) for spec in (PARTITIONS, *LARGE)]
    found = [(table, _by_run(table.files())) for table in tables]
    for day, run in sorted({key for _, runs in found for key in runs}):
        before = after = 0
        for table, runs in found:
            files = sorted(runs.get((day, run), ()), key=lambda f: f.clusters or ("", ""))
            parts = list(_parts(files))
            if len(parts) < len(files):
                write = RunTable.at(root, table.spec, day, run)
                table.replace(day, run, [new for part in parts for new in write(_row_groups(table.spec, part))])
                before, after = before + len(files), after + len(parts)
        if before:
            yield Compacted(day, run, before, after)


def _by_run(files: Sequence[TableFile]) -> dict[tuple[date, str], list[TableFile]]:
    runs: dict[tuple[date, str], list[TableFile]] = {}
    for file in files:
        runs.setdefault((file.day, file.run), []).append(file)
    return runs


def _parts(files: Sequence[TableFile]) -> Iterator[list[TableFile]]:
    part: list[TableFile] = []
    for file in files:
        if part and (len(part) >= _MOST_CLUSTERS or sum(f.rows for f in part) + file.rows > _MOST_ROWS):
            yield part
            part = []
        part.append(file)
    if part:
        yield part


def _row_groups(spec: TableSpec, files: Iterable[TableFile]) -> Iterator[Any]:
    """Yields the rows of all files, a cluster at a time."""
    for file in files:
        with readable_errors(file.place):
            rows = read_table(file.place, schema=spec.file_schema)
        yield from rows.combine_chunks().to_batches(max_chunksize=ROWS)


def prune_store(place: str, today: date, keep: str, keep_audits: str | None, *, delete: bool) -> tuple[Old, ...]:
    """Returns the runs and audits that are older than `keep` (such as 90d); deletes them if `delete` is set.

    `keep_audits` is the limit for findings and scores; None means the same as for snapshots. The newest run and the
    newest audit always stay. Raises UsageError for a limit that is not a number of days.
    """
    keep_snapshots = days_of(keep)
    kept_audits = days_of(keep_audits, "--keep-audits") if keep_audits is not None else keep_snapshots
    with locked(place) if delete else contextlib.nullcontext():
        found = tuple(find_old(place_of(place), today, keep_snapshots, kept_audits))
        if delete:
            delete_old(place_of(place), found)
    return found


def compact_store(place: str) -> Iterator[Compacted]:
    """Yields each run whose files were merged. Raises HeldError if an audit of this store is running."""
    with locked(place):
        yield from compact(place_of(place))
