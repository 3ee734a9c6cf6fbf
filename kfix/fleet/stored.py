"""Rows of the store as the input of a statement."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.adapters.fleet.delta import StoreTable, TableFile
from kfix.adapters.fleet.places import StoreLocation
from kfix.adapters.fleet.spec import TableSpec
from kfix.fleet.engine import RunFile, StoredRows


def stored_rows(root: StoreLocation, spec: TableSpec, files: Iterable[TableFile]) -> StoredRows:
    """Returns the rows of these files as the input of a statement."""
    place = StoreTable(root, spec).place
    start = len(place.path.rstrip("/")) + 1
    found = (RunFile(file.place.path[start:], file.day, file.run, file.rows, file.clusters) for file in files)
    return StoredRows(spec.schema, str(place), tuple(found))
