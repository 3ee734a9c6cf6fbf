"""The clusters of a fleet and the runs of its store, as tables and as JSON."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from kfix.core.documents.outputs import plain
from kfix.core.inventory.model import ClusterEntry, Inventory, MaintenanceWindow
from kfix.core.wording import several
from kfix.front.console import styled, table

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def show_inventory(inventory: Inventory, warnings: Iterable[str], console: Console) -> None:
    shown = table(header_style="bold")
    for name in ("cluster", "owner", "criticality", "rf/isr", "timeout", "tags", "where"):
        shown.add_column(name, overflow="fold")
    for entry in inventory.clusters.values():
        expected = f"{entry.expected.rf}/{entry.expected.min_isr}"
        row = (entry.name, entry.owner, entry.criticality.word, expected, f"{entry.timeout:g} s", " ".join(entry.tags))
        shown.add_row(*row, _where(entry))
    console.print(shown)
    for line in warnings:
        console.print(styled(f"warning: {line}", "yellow"))
    console.print(f"{inventory.origin}: {several(len(inventory.clusters), 'cluster')}, {_mutes(inventory)}: valid")


def inventory_json(inventory: Inventory, sha256: str, warnings: Iterable[str]) -> dict[str, Any]:
    return {
        "inventory": inventory.origin,
        "sha256": sha256,
        "clusters": {name: entry_json(entry) for name, entry in inventory.clusters.items()},
        "mutes": plain(inventory.mutes),
        "warnings": list(warnings),
    }


def entry_json(entry: ClusterEntry) -> dict[str, Any]:
    found = plain(entry) | {"windows": [window_words(w) for w in entry.windows]}
    return {name: value for name, value in found.items() if name not in {"name", "trusted"}}


def window_words(window: MaintenanceWindow) -> str:
    why = f" ({window.why})" if window.why else ""
    if window.start is not None and window.end is not None:
        return f"{window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC{why}"
    days = " ".join(_DAYS[d] for d in sorted(window.weekdays))
    return f"{days} {window.at // 60:02d}:{window.at % 60:02d} UTC for {window.minutes} min{why}"


def _where(entry: ClusterEntry) -> str:
    return entry.bootstrap.replace(",", ", ") or f"zookeeper {entry.zookeeper}"


def _mutes(inventory: Inventory) -> str:
    return several(len(inventory.mutes), "mute")


def show_runs(runs: Iterable[Any], console: Console) -> None:
    """`runs` are `kfix.fleet.store.listing.Listed`."""
    shown = table(header_style="bold")
    for name in ("date", "run", "state", "clusters", "failed", "partitions", "began, UTC", "seconds"):
        shown.add_column(name, justify="right" if name in {"clusters", "failed", "partitions", "seconds"} else "left")
    for run in runs:
        began = "" if run.began is None else f"{datetime.fromtimestamp(run.began, UTC):%H:%M:%S}"
        took = f"{run.ended - run.began:.1f}" if run.ended is not None and run.began is not None else ""
        whole = run.state == "complete"
        counts = (str(run.clusters), str(run.failed) if whole else "", str(run.rows) if whole else "")
        shown.add_row(run.day.isoformat(), run.id, run.state, *counts, began, took)
    console.print(shown)
    for run in runs:
        if run.why:
            console.print(styled(run.why, "yellow"))


def runs_json(runs: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {
            "date": run.day.isoformat(),
            "run": run.id,
            "state": run.state,
            "clusters": run.clusters,
            "failed": run.failed,
            "partitions": run.rows,
            "began": run.began,
            "ended": run.ended,
            "why": run.why,
        }
        for run in runs
    ]
