"""Pruning a fleet store, and filling one with synthetic clusters and several days of history."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import date

from kfix.fleet.audit.running import audit
from kfix.fleet.collect import Progress
from kfix.fleet.compacting import Compacted, compact
from kfix.fleet.demo import DemoFleet, empty_store, write_run
from kfix.fleet.engines import engine
from kfix.fleet.model.audit import AuditReport
from kfix.fleet.pruning import Old, days_of, delete_old, find_old
from kfix.fleet.store.places import place_of
from kfix.fleet.wiring import locked, report

__all__ = ["DemoFleet", "compact_store", "make_demo", "prune_store"]


def prune_store(place: str, today: date, keep: str, keep_audits: str | None, *, delete: bool) -> tuple[Old, ...]:
    """Returns the runs and audits that are older than `keep` (such as 90d); deletes them if `delete` is set.

    `keep_audits` is the limit for findings and scores; None means the same as for snapshots. The newest run and the
    newest audit always stay. Raises UsageError for a limit that is not a number of days.
    """
    keep_snapshots = days_of(keep)
    kept_audits = days_of(keep_audits, "--keep-audits") if keep_audits is not None else keep_snapshots
    with locked(place) if delete else contextlib.nullcontext():
        found = tuple(find_old(place_of(place), today, keep_snapshots, kept_audits))
        if delete:
            delete_old(place_of(place), found)
    return found


def compact_store(place: str) -> Iterator[Compacted]:
    """Yields each run whose files were merged. Raises HeldError if an audit of this store is running."""
    with locked(place):
        yield from compact(place_of(place))


def make_demo(place: str, fleet: DemoFleet, processes: int | None, progress: Progress) -> AuditReport:
    """Fills an empty store day by day, audits every day, and returns the last report.

    Raises UsageError if the store already has runs.
    """
    root = place_of(place)
    with locked(place, creates=True), engine(processes=processes) as used:
        empty_store(root)
        with progress(fleet.days) as hear:
            for each in fleet.runs():
                run = write_run(root, fleet, each, processes)
                made = audit(root, run, fleet.inventory, used)
                hear(each.day.isoformat(), "")
        return report(root, made, used)
