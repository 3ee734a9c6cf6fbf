"""Merges the files of a run that have a cluster each into few large ones. The rows stay the same."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow.parquet as pq

from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.fact_tables import LARGE
from kfix.fleet.store.footers import WRITTEN, read_table
from kfix.fleet.store.places import TABLE, StoreLocation, readable_errors, writing
from kfix.fleet.store.staging import ROWS
from kfix.fleet.store.tables import PARTITIONS

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
                table.replace(day, run, [_merged(table, table.folder(day, run), part) for part in parts])
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


def _merged(table: StoreTable, folder: StoreLocation, files: Sequence[TableFile]) -> NewFile:
    """Writes one file with the row groups of all, a cluster at a time."""
    place = folder / f"{table.spec.name}-{secrets.token_hex(4)}{TABLE}"
    schema = table.spec.file_schema
    with writing(place) as out, pq.ParquetWriter(out, schema, **WRITTEN) as to:
        for file in files:
            with readable_errors(file.place):
                to.write_table(read_table(file.place, schema=schema), row_group_size=ROWS)
    size = place.system.get_file_info(place.path).size
    ends = [name for file in files if file.clusters is not None for name in file.clusters]
    return NewFile(
        place.path.rpartition("/")[2], size, sum(f.rows for f in files), (min(ends), max(ends)) if ends else None
    )
