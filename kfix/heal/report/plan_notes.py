"""Prints the differences between two plans, and notes on a plan that is shown again."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from kfix.front.console import styled, table


def print_differences(rows: Iterable[tuple[str, str, str]], console: Console) -> None:
    """Prints (what, as it was, as it is) rows, or that there are none."""
    found = table(header_style="bold", padding=(0, 2, 0, 0))
    for name in ("differs", "was", "is"):
        found.add_column(name, overflow="fold")
    for row in rows:
        found.add_row(*row)
    if found.row_count:
        console.print(found)
    else:
        console.print(styled("no differences", "green"))


def print_notes(notes: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(styled(f"note: {note}", "yellow"), soft_wrap=True)
