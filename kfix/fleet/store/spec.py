"""How a table of the fleet store is declared: its columns with a comment and a unit, for every engine and the docs.

All tables are partitioned by `day` and `run`: a run is one partition, which a commit replaces as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Final, get_args, get_type_hints

import pyarrow as pa

from kfix.core.declared import FieldMark, Unit

INTS: Final = pa.list_(pa.int64())
TIME: Final = pa.timestamp("us", "UTC")
#: What rows are partitioned by. The files do not have these columns: their values are part of the commit.
RUN_KEY: Final = ("day", "run")


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `unit` is "" for names, flags and ids; `null` says what a missing value means, "" if none is."""

    name: str
    type: Any
    comment: str
    unit: str = ""
    null: str = ""

    @property
    def field(self) -> Any:
        unit = f" ({self.unit})" if self.unit else ""
        comment = self.comment + unit + (f"; null: {self.null}" if self.null else "")
        return pa.field(self.name, self.type, nullable=bool(self.null), metadata={"comment": comment})


_TYPES: Final[Mapping[Any, Any]] = {
    bool: pa.bool_(),
    int: pa.int64(),
    str: pa.string(),
    float: pa.float64(),
    date: pa.date32(),
    tuple[str, ...]: pa.list_(pa.string()),
    tuple[int, ...]: INTS,
}


def columns_of(kind: type) -> tuple[Column, ...]:
    """Returns the columns of rows that are never null, by their declaration."""
    return tuple(_column(name, *get_args(hint)) for name, hint in get_type_hints(kind, include_extras=True).items())


def _column(name: str, kind: Any, *marks: Any) -> Column:
    comment = "".join(mark for mark in marks if isinstance(mark, str))
    unknown = "; -1 if unknown" if FieldMark.OR_NULL in marks else ""
    unit = next((mark.name for mark in marks if isinstance(mark, Unit)), "")
    return Column(name, _TYPES[kind], comment + unknown, unit)


@dataclass(frozen=True)
class TableSpec:
    """A table: its name, what a row is, and the columns after `day` and `run`."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> Any:
        """The columns as readers see them."""
        return pa.schema([*(column.field for column in _RUN_KEY), *self.file_schema])

    @cached_property
    def file_schema(self) -> Any:
        """The columns of a file."""
        return pa.schema([column.field for column in self.columns])


_RUN_KEY: Final = (
    Column("day", pa.date32(), "the day of the run", "UTC date"),
    Column("run", pa.string(), "the name of the run; unique within its day"),
)


def rows_table(schema: Any, rows: Iterable[Sequence[Any]]) -> Any:
    """Returns rows, with their values in the order of the schema, as a pyarrow table."""
    columns = [*zip(*rows, strict=True)] or [()] * len(schema)
    arrays = [_array([*values], field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[Any], kind: Any) -> Any:
    """Returns a pyarrow array; escapes text that is not valid UTF-8, such as a lone surrogate in a topic's name."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([*map(_escaped, values)], kind)


def _escaped(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_escaped(v) for v in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
