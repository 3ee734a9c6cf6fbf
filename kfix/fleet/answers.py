"""The conventions that engines share, so that their results compare: the result types.

Engines return the same sum as int64, hugeint or decimal, the same text as string or large_string, and the same list
with different item names. `plain` maps each to one type.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

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
