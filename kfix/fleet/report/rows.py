"""The rows of a query as a table, JSON or CSV. Columns and types depend on the query."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from rich.box import SIMPLE
from rich.console import Console

from kfix.core.harmless import for_csv, for_json, squeezed
from kfix.core.wording import several, utc_text
from kfix.front.console import table

Row = Sequence[Any]


def rows_json(names: Sequence[str], rows: Iterable[Row]) -> str:
    """Returns a list of objects; dates and times are ISO 8601, NaN is null."""
    found = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    return for_json(found, indent=1, default=str)


def answer_json(
    question: str,
    names: Sequence[str],
    rows: Iterable[Row],
    not_read: Iterable[tuple[str, str, int | None, str]] = (),
    unknown: str = "",
) -> str:
    """Returns the answer to a question of the fleet: its rows as in `rows_json`, and what they lack."""
    found = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    lacks = [dict(zip(("cluster", "fact", "broker", "why"), each, strict=True)) for each in not_read]
    whole = {"question": question, "rows": found, "not_read": lacks, "unknown": unknown}
    return for_json(whole, indent=1, default=str)


def rows_csv(names: Sequence[str], rows: Iterable[Row]) -> str:
    """Returns CSV (RFC 4180) with a header; lists are joined by spaces."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([for_csv(name) for name in names])
    writer.writerows([_csv_cell(v) for v in row] for row in rows)
    return out.getvalue()


def print_rows(names: Sequence[str], rows: Sequence[Row], console: Console, limit: int) -> None:
    """Prints at most `limit` rows and the number of rows."""
    shown = table(SIMPLE, show_edge=False)
    for place, name in enumerate(names):
        numbers = all(isinstance(row[place], int | float) for row in rows) and bool(rows)
        shown.add_column(squeezed(name), justify="right" if numbers else "left", overflow="fold")
    for row in rows[:limit]:
        shown.add_row(*(squeezed(utc_text(v.timestamp()) if isinstance(v, datetime) else _cell(v)) for v in row))
    console.print(shown)
    more = len(rows) - limit
    count = several(len(rows), "row")
    console.print(count if more <= 0 else f"{count}, {more} not shown (--limit, --json, --csv)")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN is not itself
        return None
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value


def _csv_cell(value: Any) -> Any:
    """Keeps numbers as they are: a minus sign does not make a formula."""
    plain = _plain(value)
    return plain if isinstance(plain, int | float) else for_csv(_cell(value))


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    plain = _plain(value)
    return "" if plain is None else str(plain)
