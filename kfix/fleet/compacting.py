"""Merges the files of a run in `partitions`, one for each cluster, into few large ones. The rows stay the same."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow.parquet as pq

from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
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
    table = StoreTable(root, PARTITIONS)
    runs: dict[tuple[date, str], list[TableFile]] = {}
    for file in table.files():
        runs.setdefault((file.day, file.run), []).append(file)
    for (day, run), files in sorted(runs.items()):
        parts = list(_parts(sorted(files, key=lambda f: f.clusters or ("", ""))))
        if len(parts) < len(files):
            table.replace(day, run, [_merged(table.folder(day, run), part) for part in parts])
            yield Compacted(day, run, len(files), len(parts))


def _parts(files: Sequence[TableFile]) -> Iterator[list[TableFile]]:
    part: list[TableFile] = []
    for file in files:
        if part and (len(part) >= _MOST_CLUSTERS or sum(f.rows for f in part) + file.rows > _MOST_ROWS):
            yield part
            part = []
        part.append(file)
    if part:
        yield part


def _merged(folder: StoreLocation, files: Sequence[TableFile]) -> NewFile:
    """Writes one file with the row groups of all, a cluster at a time."""
    place = folder / f"{PARTITIONS.name}-{secrets.token_hex(4)}{TABLE}"
    schema = PARTITIONS.file_schema
    with writing(place) as out, pq.ParquetWriter(out, schema, compression="zstd", store_schema=False) as to:
        for file in files:
            with readable_errors(file.place), file.place.system.open_input_file(file.place.path) as opened:
                to.write_table(pq.read_table(opened, schema=schema), row_group_size=ROWS)
    size = place.system.get_file_info(place.path).size
    ends = [name for file in files if file.clusters is not None for name in file.clusters]
    return NewFile(
        place.path.rpartition("/")[2], size, sum(f.rows for f in files), (min(ends), max(ends)) if ends else None
    )
