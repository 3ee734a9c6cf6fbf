"""What of a store is old enough to go. Nothing is taken away here that was not listed first."""

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
    """A run's looks, or an audit's tables. `complete`: it has its manifest. `size` in bytes."""

    kind: str
    day: date
    run: str
    place: StoreLocation
    complete: bool
    size: int


def days_of(text: str, option: str = "--keep") -> int:
    """`90d`. UsageError for anything else: a wrong unit would cost a history."""
    found = _KEEP.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option}: {text!r} is not a number of days such as 90d")
    return int(found[1])


def old_ones(root: StoreLocation, today: date, keep_looks: int, keep_audits: int) -> tuple[Old, ...]:
    """Oldest first. The newest complete run and the newest audit stay, however old they are: the next audit is compared
    with them. UsageError where the store is none.
    """
    top = root / f"v{VERSION}"
    if not folders(top, "date=") and not folders(top / AUDITS, "date="):
        raise UsageError(f"{root}: is no fleet store: it has no v{VERSION}/date=...")
    looks = _listed("looks", top, MANIFEST)
    judged = _listed("audit", top / AUDITS, AUDIT)
    found = [
        *_beyond(looks, today - timedelta(days=keep_looks)),
        *_beyond(judged, today - timedelta(days=keep_audits)),
    ]
    return tuple(sorted(found, key=lambda o: (o.day, o.kind, o.run)))


def take_away(old: Old) -> None:
    """Its manifest first, so that no reader ever takes a half for a whole."""
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
