"""Rows of the store as the input of a statement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import pyarrow as pa

from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.renames import Rename
from kfix.fleet.store.spec import TableSpec, rows_table
from kfix.fleet.store.staging import RunTable

_RENAMES: Final = pa.schema(
    [("was", pa.string()), ("name", pa.string()), ("until", pa.date32()), ("after", pa.date32())]
)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table of the store: its columns (a pyarrow schema with `day` and `run`), its folder, and some files.

    Clusters have their names after `renames`, a pyarrow table: `was`, `name`, and the days `until` and `after`, between
    which rows have the old name. None: as they are stored.
    """

    schema: Any
    folder: StoreLocation
    files: tuple[TableFile, ...]
    renames: Any = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def stored_rows(
    root: StoreLocation, spec: TableSpec, files: Iterable[TableFile], renames: Sequence[Rename] = ()
) -> StoredRows:
    """Returns the rows of these files as the input of a statement. Clusters have their names after `renames`."""
    names = None
    if renames and "cluster" in spec.schema.names:
        names = rows_table(_RENAMES, ((r.was, r.name, r.until, r.after or date.min) for r in renames))
    return StoredRows(spec.schema, StoreTable(root, spec).place, tuple(files), names)


def written_rows(table: RunTable, files: Iterable[NewFile]) -> StoredRows:
    """Returns the same for files that were written for a run and are not committed."""
    of = StoreTable(place_of(table.root), table.spec)
    folder = of.folder(table.day, table.run)
    found = (TableFile(folder / f.name, table.day, table.run, f.rows, f.size, f.clusters) for f in files)
    return StoredRows(table.spec.schema, of.place, tuple(found))
