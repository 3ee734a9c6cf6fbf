"""Where the second stage of an audit on Spark is answered: there where it is large, by DuckDB in the driver where not.

The statements are the same and so are the answers (a test compares them). Spark takes about 5 s for the first of them,
whatever their size; a night of a thousand clusters has 10^4 findings, and DuckDB takes 0.1 s (docs/adr/009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from kfix.adapters.fleet.places import place_of, telling
from kfix.fleet.engine import Engine, View
from kfix.fleet.pool import Done

A = TypeVar("A")
R = TypeVar("R")
#: Rows of one table that a single process is not asked to hold.
LARGE: Final = 1_000_000


class Staged:
    """An engine: `each` is `far`'s; `query` too where a table has more than `large` rows (0: always), else `near`'s."""

    def __init__(self, far: Engine, near: Engine, large: int = LARGE) -> None:
        self._far, self._near, self._large = far, near, large

    @property
    def name(self) -> str:
        return self._far.name

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        return self._far.each(work, items)

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        far = not self._large or any(_rows(given) > self._large for given in tables.values())
        return (self._far if far else self._near).query(sql, tables)


def _rows(given: Any) -> int:
    if isinstance(given, View):
        return 0  # as large as the tables under it
    if isinstance(given, pa.Table):
        return int(given.num_rows)
    total = 0
    for file in given:
        place = place_of(file)
        with telling(place), place.system.open_input_file(place.path) as opened:
            total += int(pq.read_metadata(opened).num_rows)
    return total
