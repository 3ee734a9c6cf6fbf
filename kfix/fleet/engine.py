"""The engine of an audit: a process pool and DuckDB on one machine, or Spark. Both run the same work and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, TypeVar

from kfix.derive.predicate import Predicate
from kfix.fleet.judging.picked import Picked
from kfix.fleet.pool import Done

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file of one run; `path` is relative to the table's folder."""

    path: str
    day: date
    run: str
    rows: int


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table of the store: its columns (a pyarrow schema with `day` and `run`), its folder, and some files."""

    schema: Any
    folder: str
    files: tuple[RunFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """Work for each cluster of a run that needs the rows of `partitions` which meet a condition.

    `tasks` is a pyarrow table with a row for each cluster: `cluster`, what is expected of it (`EXPECTED_TYPES`), and
    whatever `work` needs. `work` gets such a row and the picked rows, None if it must find them itself, and returns
    pyarrow record batches of the schema `answers`, which has `cluster`, too.
    """

    tasks: Any
    rows: StoredRows
    conditions: tuple[Predicate, ...]
    work: Callable[[Mapping[str, Any], Picked | None], Any]
    answers: Any


@dataclass(frozen=True, slots=True)
class View:
    """A table defined by a statement over the tables before it."""

    sql: str


class Engine(Protocol):
    """Runs the work and the SQL of an audit. `name` and version appear in manifests and reports."""

    @property
    def name(self) -> str: ...

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        """Yields the results in the order of the names. A failure, even the death of a process, is a result."""
        ...

    def over_rows(self, job: ClusterJob) -> Any:
        """Returns the answers of all clusters as a pyarrow table, evaluating the conditions over the whole table.

        Returns None if this engine reads each cluster by itself, or if it lost a process: then `each` does the work,
        and shows which cluster is the reason.
        """
        ...

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        """Returns the result as a pyarrow.Table.

        `tables` maps the names that the statement uses to pyarrow tables, rows of the store, or views over the tables
        before them. Raises UsageError if the statement is wrong.
        """
        ...
