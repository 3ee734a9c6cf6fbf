"""What differs between two plans, and what became of a plan that is shown again, for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_differences(rows: Iterable[tuple[str, str, str]], console: Console) -> None:
    """(what, as it was, as it is); no row at all is told as well."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("differs", "was", "is"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    if table.row_count:
        console.print(table)
    else:
        console.print(Text("nothing differs", "green"))


def print_notes(notes: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(Text(f"note: {note}", "yellow"), soft_wrap=True)
