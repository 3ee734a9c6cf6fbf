"""What carries an audit out: the pool of processes and DuckDB on one machine, or Spark. Same work, same SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kfix.fleet.pool import Done

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class View:
    """A table that is a statement over those named before it."""

    sql: str


class Engine(Protocol):
    """`name` is what manifests and reports call it, with its version."""

    @property
    def name(self) -> str: ...

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        """Each result in the order of the names; a failure, even of the process that does the work, is a result."""
        ...

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        """The answer as a pyarrow.Table; `tables` are pyarrow tables, or lists of Parquet files' paths or URLs, by the
        name that the statement calls them, or views over those before. UsageError where the statement is wrong.
        """
        ...
