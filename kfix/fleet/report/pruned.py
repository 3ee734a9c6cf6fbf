"""The table of old runs and audits that `kfix fleet prune` lists or has deleted."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console

from kfix.core.wording import several, size_text
from kfix.front.console import table


def print_old(found: Sequence[Any], store: str, console: Console, *, deleted: bool) -> None:
    """`found` are `kfix.fleet.upkeep.Old`."""
    if not found:
        console.print(f"{store}: nothing to prune")
        return
    shown = table(SIMPLE, show_edge=False)
    for name in ("day", "run", "what"):
        shown.add_column(name)
    shown.add_column("size", justify="right")
    for old in found:
        what = old.kind if old.complete else f"{old.kind}, unfinished"
        shown.add_row(old.day.isoformat(), old.run, what, size_text(old.size))
    console.print(shown)
    total = size_text(sum(o.size for o in found))
    kinds = f"{several(len(found), 'entry', 'entries')}, {total}"
    console.print(f"deleted: {kinds}" if deleted else f"would delete {kinds}; nothing was deleted (--delete)")
