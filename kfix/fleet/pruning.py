"""Finds and deletes old runs and audits of a store. Only entries that were listed first are deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from kfix.adapters.fleet.audits import AUDIT, AUDITS
from kfix.adapters.fleet.places import (
    MANIFEST,
    StoreLocation,
    exists,
    folders,
    remove,
    remove_folder,
    run_folders,
    size_of,
)
from kfix.adapters.fleet.schema import VERSION
from kfix.errors import UsageError

_KEEP = re.compile(r"([1-9][0-9]{0,4})d")


@dataclass(frozen=True, slots=True)
class Old:
    """The snapshots of a run, or the tables of an audit. `complete`: it has a manifest; `size` is in bytes."""

    kind: str
    day: date
    run: str
    place: StoreLocation
    complete: bool
    size: int


def days_of(text: str, option: str = "--keep") -> int:
    """Returns the days of a text such as `90d`. Raises UsageError for anything else, since a wrong unit loses data."""
    found = _KEEP.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option}: {text!r} is not a number of days such as 90d")
    return int(found[1])


def find_old(root: StoreLocation, today: date, keep_snapshots: int, keep_audits: int) -> tuple[Old, ...]:
    """Returns the old runs and audits, oldest first.

    The newest complete run and the newest audit are never included: the next audit is compared with them. Raises
    UsageError if `root` is not a fleet store.
    """
    top = root / f"v{VERSION}"
    if not folders(top, "date=") and not folders(top / AUDITS, "date="):
        raise UsageError(f"{root}: is not a fleet store: it has no v{VERSION}/date=...")
    snapshots = _listed("snapshots", top, MANIFEST)
    audits = _listed("audit", top / AUDITS, AUDIT)
    found = [
        *_beyond(snapshots, today - timedelta(days=keep_snapshots)),
        *_beyond(audits, today - timedelta(days=keep_audits)),
    ]
    return tuple(sorted(found, key=lambda o: (o.day, o.kind, o.run)))


def delete_old(old: Old) -> None:
    """Deletes the manifest first, so that no reader takes a partial folder for a complete one."""
    remove(old.place / (AUDIT if old.kind == "audit" else MANIFEST))
    remove_folder(old.place)
    day = old.place.parent
    if not folders(day, "run="):
        remove_folder(day)


def _listed(kind: str, top: StoreLocation, manifest: str) -> list[Old]:
    return [Old(kind, day, run, place, exists(place / manifest), 0) for day, run, place in run_folders(top)]


def _beyond(all_: list[Old], first_kept: date) -> Iterable[Old]:
    newest = max((o.day for o in all_ if o.complete), default=None)
    for each in all_:
        if each.day < first_kept and not (each.complete and each.day == newest):
            yield Old(each.kind, each.day, each.run, each.place, each.complete, size_of(each.place))
