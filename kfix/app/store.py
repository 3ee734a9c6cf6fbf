"""A fleet store kept small, and one to try that holds synthetic clusters with nights of history."""

from __future__ import annotations

import contextlib
from datetime import date

from kfix.adapters.fleet.places import place_of
from kfix.app.audit import audit, locked, report
from kfix.app.collect import Progress
from kfix.app.fleet import engine
from kfix.fleet.demo import DemoFleet as DemoWish
from kfix.fleet.demo import empty_store, write_night
from kfix.fleet.pruning import Old, days_of, old_ones, take_away
from kfix.model.audit.audit import AuditReport

__all__ = ["DemoWish", "make_demo", "prune_store"]


def prune_store(place: str, today: date, keep: str, keep_audits: str | None, *, delete: bool) -> tuple[Old, ...]:
    """Returns what is older than `keep` (such as 90d), and with `delete` takes it away.

    `keep_audits` is for findings and scores; None: as long as snapshots. The newest run and audit always stay.
    """
    looks = days_of(keep)
    judged = days_of(keep_audits, "--keep-audits") if keep_audits is not None else looks
    with locked(place) if delete else contextlib.nullcontext():
        found = tuple(old_ones(place_of(place), today, looks, judged))
        for old in found if delete else ():
            take_away(old)
    return found


def make_demo(place: str, fleet: DemoWish, processes: int | None, progress: Progress) -> AuditReport:
    """Fills an empty store night by night, audits each night, and returns the report of the last."""
    root = place_of(place)
    with locked(place), engine(processes=processes) as used:
        empty_store(root)
        with progress(fleet.days) as hear:
            for night in fleet.nights():
                run = write_night(root, fleet, night, processes)
                made = audit(root, run, fleet.inventory, used)
                hear(night.day.isoformat(), "")
        return report(root, made, used)
