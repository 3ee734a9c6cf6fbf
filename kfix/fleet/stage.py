"""Chooses the engine for the statements of an audit on Spark: Spark if a table is large, else DuckDB in the driver.

The statements and their results are the same (a test compares them). Spark takes 1 to 15 s for a statement on few rows,
which it compiles first; DuckDB takes 0.1 s (docs/adr/009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa

from kfix.fleet.engine import Engine, View
from kfix.fleet.pool import Done

A = TypeVar("A")
R = TypeVar("R")
#: The number of rows of one table above which the second stage runs on Spark.
LARGE: Final = 1_000_000


class Staged:
    """Runs `each` on the engine `far`, and statements there if a table has more than `large` rows (0: always), else on
    `near`.
    """

    def __init__(self, far: Engine, near: Engine, large: int = LARGE) -> None:
        self._far, self._near, self._large = far, near, large

    @property
    def name(self) -> str:
        return self._far.name

    @property
    def cores(self) -> int:
        return self._far.cores

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        return self._far.each(work, items)

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        return self._engine_for(tables).query(sql, tables)

    def over_parts(
        self, sql: str, tables: Mapping[str, Any], order: Sequence[str], work: Callable[[Iterator[Any]], R]
    ) -> list[R]:
        return self._engine_for(tables).over_parts(sql, tables, order, work)

    def register(self, schema: str, root: str, tables: Mapping[str, str]) -> None:
        self._far.register(schema, root, tables)

    def _engine_for(self, tables: Mapping[str, Any]) -> Engine:
        far = not self._large or any(_rows(given) > self._large for given in tables.values())
        return self._far if far else self._near


def _rows(given: Any) -> int:
    if isinstance(given, View):
        return 0  # counted with the tables that it reads
    if isinstance(given, pa.Table):
        return int(given.num_rows)
    return int(given.rows)
