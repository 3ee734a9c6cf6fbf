"""The engine of an audit: a process pool and DuckDB on one machine, or Spark. Both run the same work and SQL."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import pyarrow as pa

from kfix.fleet.engines.pool import Done

A = TypeVar("A")
R = TypeVar("R")


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


_UTC: Final = pa.timestamp("us", "UTC")


def plain(table: Any) -> Any:
    """Returns the same rows with integers as int64 (decimal if too large), other numbers as float64, times in UTC."""
    columns = [_plain(table.column(i).combine_chunks()) for i in range(table.num_columns)]
    fields = [pa.field(name, column.type) for name, column in zip(table.column_names, columns, strict=True)]
    return pa.Table.from_arrays([pa.chunked_array([c]) for c in columns], schema=pa.schema(fields))


def _plain(column: Any) -> Any:
    wanted = _type(column.type)
    if column.type == wanted:
        return column
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid:
        # 2^63 or more.
        return column.cast(pa.decimal128(38, 0)) if wanted == pa.int64() else column


def _type(given: Any) -> Any:  # noqa: PLR0911 - one line a kind
    kinds = pa.types
    if kinds.is_integer(given) or kinds.is_null(given):
        return pa.int64()
    if kinds.is_decimal(given):
        return pa.int64() if given.scale == 0 else pa.float64()
    if kinds.is_floating(given):
        return pa.float64()
    if kinds.is_large_string(given) or kinds.is_string_view(given) or kinds.is_dictionary(given):
        return pa.string()
    if kinds.is_timestamp(given):
        return _UTC
    if kinds.is_list(given) or kinds.is_large_list(given):
        return pa.list_(_type(given.value_type))
    if kinds.is_struct(given):
        return pa.struct([pa.field(f.name, _type(f.type)) for f in given])
    if kinds.is_map(given):
        return pa.map_(_type(given.key_type), _type(given.item_type))
    return given
