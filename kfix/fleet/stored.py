"""Rows of the store as the input of a statement."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.fleet.engine import RunFile, StoredRows
from kfix.fleet.store.delta import StoreTable, TableFile
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.spec import TableSpec


def stored_rows(root: StoreLocation, spec: TableSpec, files: Iterable[TableFile]) -> StoredRows:
    """Returns the rows of these files as the input of a statement."""
    place = StoreTable(root, spec).place
    start = len(place.path.rstrip("/")) + 1
    found = (RunFile(file.place.path[start:], file.day, file.run, file.rows, file.clusters) for file in files)
    return StoredRows(spec.schema, str(place), tuple(found))
