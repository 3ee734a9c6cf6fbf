"""Which runs are still to be judged: the store itself says what was collected since the last audit."""

from __future__ import annotations

from datetime import date

from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.runs import Run, read_row
from kfix.fleet.store.tables import AUDITS, RUNS


def pending_runs(root: StoreLocation, since: date | None) -> tuple[Run, ...]:
    """Returns the complete runs without an audit, oldest first: those of `since` and later, or with None those that
    began after the last run that has one.

    An audit that was killed does not count. Raises UsageError if such a run is damaged.
    """
    judged = set(StoreTable(root, AUDITS).runs())
    first = max((day for day, _ in judged), default=date.min) if since is None else since
    there = StoreTable(root, RUNS).files(lambda day, _run: day >= first)
    last = None
    if since is None:
        last = max((read_row(root, f).order for f in there if (f.day, f.run) in judged), default=None)
    found = sorted((read_row(root, f) for f in there if (f.day, f.run) not in judged), key=lambda r: r.order)
    return tuple(run for run in found if last is None or run.order > last)
