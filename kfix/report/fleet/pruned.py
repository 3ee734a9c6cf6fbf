"""The table of old runs and audits that `kfix fleet prune` lists or has deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console

from kfix.report.console import table

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def print_old(found: Sequence[Any], store: str, console: Console, *, deleted: bool) -> None:
    """`found` are `kfix.fleet.pruning.Old`."""
    if not found:
        console.print(f"{store}: nothing to prune")
        return
    shown = table(SIMPLE, show_edge=False)
    for name in ("day", "run", "what"):
        shown.add_column(name)
    shown.add_column("size", justify="right")
    for old in found:
        what = old.kind if old.complete else f"{old.kind}, unfinished"
        shown.add_row(old.day.isoformat(), old.run, what, size_words(old.size))
    console.print(shown)
    total = size_words(sum(o.size for o in found))
    kinds = f"{len(found)} {'entry' if len(found) == 1 else 'entries'}, {total}"
    console.print(f"deleted: {kinds}" if deleted else f"would delete {kinds}; nothing was deleted (--delete)")


def size_words(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"
