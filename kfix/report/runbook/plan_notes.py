"""What differs between two plans, and what became of a plan that is shown again, for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from kfix.report.console import styled, table


def print_differences(rows: Iterable[tuple[str, str, str]], console: Console) -> None:
    """(what, as it was, as it is); no row at all is told as well."""
    found = table(header_style="bold", padding=(0, 2, 0, 0))
    for name in ("differs", "was", "is"):
        found.add_column(name, overflow="fold")
    for row in rows:
        found.add_row(*row)
    if found.row_count:
        console.print(found)
    else:
        console.print(styled("nothing differs", "green"))


def print_notes(notes: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(styled(f"note: {note}", "yellow"), soft_wrap=True)
