"""The engine of an audit: a process pool and DuckDB on one machine, or Spark. Both run the same work and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
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
class EarlierFindings:
    """The findings that were not fixed in the previous audit of each cluster.

    `rows` are stored rows of several audits, `of` is a pyarrow table that names one for each cluster: `cluster`, `day`,
    `run`.
    """

    rows: StoredRows
    of: Any


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """Work for each cluster of a run.

    `tasks` is a pyarrow table with a row for each cluster: `cluster`, and whatever `work` needs. `work` gets such a
    row, with the columns `brief` of the earlier findings as the list `before`. It returns pyarrow record batches of the
    schema `answers`, which has `cluster`, too. The columns `summary` of the answers are for the process of the audit.
    """

    tasks: Any
    work: Callable[[Mapping[str, Any]], Any]
    answers: Any
    summary: tuple[str, ...] = ("cluster",)
    before: EarlierFindings | None = None
    brief: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecondPass:
    """More work for each cluster of a job, and for clusters without an answer.

    `given` is a pyarrow table with a row for each cluster. `work` gets such rows in the order of the clusters, each
    with the columns `kept` of its answer, null if it has none, and its earlier findings as the list `before`. It
    yields pyarrow record batches of the schema `answers`. `tasks` is the number of tasks.
    """

    given: Any
    kept: tuple[str, ...]
    work: Callable[[Iterator[Mapping[str, Any]]], Iterator[Any]]
    answers: Any
    tasks: int


class KeptAnswers(Protocol):
    """The answers of a job. They stay where the engine made them; `summary` is a pyarrow table in this process."""

    @property
    def summary(self) -> Any: ...

    def read(self) -> Any:
        """Returns all columns of the answers as a pyarrow table."""
        ...

    def again(self, second: SecondPass) -> Any:
        """Returns what the work yields as a pyarrow table; None if a process died."""
        ...


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

    def over_rows(self, job: Callable[[], ClusterJob]) -> AbstractContextManager[KeptAnswers | None]:
        """Opens the answers of all clusters, evaluating the conditions over the whole table.

        They are None if this engine reads each cluster by itself, if it lost a process, or if it cannot read a file
        that the job needs: then `each` does the work, and shows which cluster is the reason.
        """
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
