"""The engine of an audit: a process pool and DuckDB on one machine, or Spark. Both run the same work and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, TypeVar

from kfix.fleet.pool import Done

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file of one run; `path` is relative to the table's folder, `clusters` are its first and last, if known."""

    path: str
    day: date
    run: str
    rows: int
    clusters: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table of the store: its columns (a pyarrow schema with `day` and `run`), its folder, and some files.

    Clusters have their names after `renames`, a pyarrow table: `was`, `name`, and the days `until` and `after`, between
    which rows have the old name. None: as they are stored.
    """

    schema: Any
    folder: str
    files: tuple[RunFile, ...]
    renames: Any = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class View:
    """A table defined by a statement over the tables before it."""

    sql: str


class Engine(Protocol):
    """Runs the work and the SQL of an audit. `name` and version appear in manifests and reports."""

    @property
    def name(self) -> str: ...

    @property
    def cores(self) -> int:
        """The number of cores that `each` has."""
        ...

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        """Yields the results in the order of the names. A failure, even the death of a process, is a result."""
        ...

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        """Returns the result as a pyarrow.Table.

        `tables` maps the names that the statement uses to pyarrow tables, rows of the store, or views over the tables
        before them. Raises UsageError if the statement is wrong.
        """
        ...

    def over_parts(
        self, sql: str, tables: Mapping[str, Any], order: Sequence[str], work: Callable[[Iterator[Any]], R]
    ) -> list[R]:
        """Returns what `work` makes of the rows of a statement, part by part, where they are computed.

        `work` gets the pyarrow record batches of a part, sorted by the columns `order`. All rows of a cluster are in
        one part. Raises as `query`, and UnreachableError if the work was lost.
        """
        ...

    def register(self, schema: str, root: str, tables: Mapping[str, str]) -> None:
        """Makes the tables known to the catalog that others use, as `schema.name`, unless they are.

        `root` is the place of the store, `tables` are the places of its tables by name. Raises UsageError if the engine
        has no catalog, or if another table has the name.
        """
        ...
