"""Rows of the store as the input of a statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

import pyarrow as pa

from kfix.fleet.engine import RunFile, StoredRows
from kfix.fleet.store.delta import NewFile, StoreTable, TableFile
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.renames import Rename
from kfix.fleet.store.spec import TableSpec
from kfix.fleet.store.staging import RunTable

_RENAMES: Final = pa.schema(
    [("was", pa.string()), ("name", pa.string()), ("until", pa.date32()), ("after", pa.date32())]
)


def stored_rows(
    root: StoreLocation, spec: TableSpec, files: Iterable[TableFile], renames: Sequence[Rename] = ()
) -> StoredRows:
    """Returns the rows of these files as the input of a statement. Clusters have their names after `renames`."""
    place = StoreTable(root, spec).place
    start = len(place.path.rstrip("/")) + 1
    found = (RunFile(file.place.path[start:], file.day, file.run, file.rows, file.clusters) for file in files)
    names = None
    if renames and "cluster" in spec.schema.names:
        rows = [(r.was, r.name, r.until, r.after or date.min) for r in renames]
        columns = zip(*rows, strict=True)
        names = pa.table([pa.array(c, f.type) for c, f in zip(columns, _RENAMES, strict=True)], schema=_RENAMES)
    return StoredRows(spec.schema, str(place), tuple(found), names)


def written_rows(table: RunTable, files: Iterable[NewFile]) -> StoredRows:
    """Returns the same for files that were written for a run and are not committed."""
    folder = f"day={table.day.isoformat()}/run={table.run}"
    found = (RunFile(f"{folder}/{f.name}", table.day, table.run, f.rows, f.clusters) for f in files)
    return StoredRows(table.spec.schema, str(StoreTable(place_of(table.root), table.spec).place), tuple(found))
