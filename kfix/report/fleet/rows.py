"""Rows of a query: a table for people, JSON, CSV. Columns and types are whatever was asked for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kfix.report.fleet.words import one_line

Row = Sequence[Any]


def rows_json(names: Sequence[str], rows: Iterable[Row]) -> str:
    """A list of objects; days and times as ISO 8601, numbers that JSON has not (NaN) as null."""
    found = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False, default=str)


def rows_csv(names: Sequence[str], rows: Iterable[Row]) -> str:
    """RFC 4180, with a header; lists are joined by a space."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerows([_cell(v) for v in row] for row in rows)
    return out.getvalue()


def print_rows(names: Sequence[str], rows: Sequence[Row], console: Console, limit: int) -> None:
    """At most `limit` rows, and how many there are more."""
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False)
    for place, name in enumerate(names):
        numbers = all(isinstance(row[place], int | float) for row in rows) and bool(rows)
        table.add_column(Text(one_line(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows[:limit]:
        table.add_row(*(Text(one_line(_cell(value))) for value in row))
    console.print(table)
    more = len(rows) - limit
    said = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    console.print(said if more <= 0 else f"{said}, {more} of them not shown (--limit, --json, --csv)")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN is not itself
        return None
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    plain = _plain(value)
    return "" if plain is None else str(plain)
