"""The tables that `kfix audit query` reads: those of the store, for some runs (docs/fleet-store.md)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

from kfix.core.errors import UsageError
from kfix.fleet.engines.engine import View
from kfix.fleet.history.reading_sql import PARTITION_HISTORY
from kfix.fleet.store.audits import audits
from kfix.fleet.store.delta import StoreTable, TableFile
from kfix.fleet.store.history_tables import PARTITION_CHANGES
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.runs import read_row
from kfix.fleet.store.stored import stored_rows
from kfix.fleet.store.tables import ALL, AUDITED, AUDITS, RUNS

#: The views, each with the table that it shows.
VIEWS: Final = {"partition_history": (PARTITION_CHANGES.name, View(PARTITION_HISTORY))}


def tables(
    root: StoreLocation, *, days: int, run: str = "", snapshots: int = 1, only: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Returns the tables by name: audits of the last `days` days, what was collected by the last `snapshots` runs.

    `runs` has all runs, and `partition_changes` all changes: a state may have begun long ago. With `run` all others are
    those of that run. Clusters have the names that the last audit knows. With `only`, other tables are not opened, and
    changes are those of these days, too. Raises UsageError if there is no such run.
    """
    opened = [spec for spec in ALL if only is None or spec in (RUNS, AUDITS) or spec.name in only]
    there = {spec: [f for f in StoreTable(root, spec).files() if run in ("", f.run)] for spec in opened}
    judged = {(f.day, f.run) for spec in AUDITED if spec is not PARTITION_CHANGES for f in there.get(spec, ())}
    if not there[RUNS] and not judged and not there.get(PARTITION_CHANGES):
        raise UsageError(
            f"{root}: no complete run{f' called {run!r}' if run else ''}",
            hint="kfix audit or kfix fleet collect creates one; kfix fleet runs lists the stored runs",
        )
    changed = {f.day for f in there.get(PARTITION_CHANGES, ())}
    first = max({day for day, _ in judged} or changed or {date.max}) - timedelta(days=days - 1)
    lately = {each for each in judged if each[0] >= first}
    newest = {*_newest(root, there[RUNS], snapshots)}

    def wanted(day: date, name: str, spec: object) -> bool:
        if spec is RUNS:
            return True
        if spec is PARTITION_CHANGES:
            return only is None or day >= first
        return (day, name) in (lately if spec in AUDITED else newest)

    last = audits(root, max((day for day, _ in StoreTable(root, AUDITS).runs()), default=date.max), damaged=[])
    renames = last[-1].renames if last else ()
    found = {
        spec.name: stored_rows(root, spec, [f for f in files if wanted(f.day, f.run, spec)], renames)
        for spec, files in there.items()
    }
    return {**found, **{name: view for name, (_, view) in VIEWS.items()}}


def created_tables(root: StoreLocation) -> Mapping[str, str]:
    """Returns the place of each table that the store has, by name."""
    there = (StoreTable(root, spec) for spec in ALL)
    return {table.spec.name: str(table.place) for table in there if table.is_there}


def named_in(sql: str, shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the tables whose names are in the text; all of them if none is, as in SHOW TABLES.

    An engine opens each table that it is given, which takes longer than a small statement.
    """
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    words |= {table for name, (table, _) in VIEWS.items() if name in words}
    return {name: rows for name, rows in shown.items() if name in words} or shown


def _newest(root: StoreLocation, files: Sequence[TableFile], most: int) -> list[tuple[date, str]]:
    """Returns the last runs by the time at which they began: their names may sort in another order."""
    newest: list[tuple[date, str]] = []
    for day in sorted({file.day for file in files}, reverse=True):
        began = sorted((read_row(root, file).began, file.run) for file in files if file.day == day)
        newest += [(day, run) for _, run in reversed(began)]
        if len(newest) >= most:
            break
    return newest[:most]
