"""Lists the runs of a store: complete, unfinished and damaged ones. An unfinished run can be resumed."""

import json
import time
from dataclasses import dataclass
from datetime import date
from typing import Literal

from kfix.core.errors import UsageError
from kfix.fleet.store.delta import StoreTable, TableFile
from kfix.fleet.store.places import (
    BEGUN,
    CLUSTERS,
    DOCUMENT,
    STAGING,
    StoreLocation,
    files,
    read_bytes,
    run_folders,
)
from kfix.fleet.store.runs import read_row
from kfix.fleet.store.tables import RUNS

#: The age in seconds up to which an unfinished run is resumed.
_YOUNG = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Listed:
    """One run of a store.

    `clusters` is the number of collected clusters, `failed` of the others; `began` and `ended` are in seconds since
    the epoch, None if unknown. `why` is the reason why a run counts as damaged.
    """

    day: date
    id: str
    state: Literal["complete", "unfinished", "damaged"]
    clusters: int
    failed: int = 0
    rows: int = 0
    began: float | None = None
    ended: float | None = None
    why: str = ""


def listed(root: StoreLocation, day: date | None = None, run: str = "") -> tuple[Listed, ...]:
    """Returns all runs, or those of a day or a name, oldest first; () if the store does not exist."""
    complete = StoreTable(root, RUNS).files(lambda of, name: day in (None, of) and run in ("", name))
    known = {(file.day, file.run) for file in complete}
    staged = run_folders(root / STAGING, lambda of: day in (None, of))
    found = [_complete(root, file) for file in complete]
    found += [
        Listed(of, name, "unfinished", len(files(place / CLUSTERS, DOCUMENT)), began=_began(place))
        for of, name, place in staged
        if run in ("", name) and (of, name) not in known
    ]
    return tuple(sorted(found, key=lambda r: (r.day, r.began or 0.0, r.id)))


def unfinished_day(root: StoreLocation, run: str) -> date | None:
    """Returns the day of the unfinished run of that name, which may have begun before midnight; None if there is none.

    A run that began more than six hours ago is not resumed: its snapshots are too old. Raises UsageError if several
    runs match.
    """
    young = time.time() - _YOUNG
    unfinished = [r for r in listed(root, run=run) if r.state == "unfinished"]
    days = [r.day for r in unfinished if r.began is not None and r.began >= young]
    if len(days) > 1:
        raise UsageError(
            f"{root}: the run {run!r} is unfinished on {', '.join(map(str, days))}", hint="choose one with --date"
        )
    return days[0] if days else None


def _complete(root: StoreLocation, file: TableFile) -> Listed:
    try:
        run = read_row(root, file)
    except UsageError as error:
        return Listed(file.day, file.run, "damaged", 0, why=str(error))
    rows = sum(run.clusters.values())
    return Listed(run.day, run.id, "complete", len(run.clusters), len(run.failed), rows, run.began, run.ended)


def _began(place: StoreLocation) -> float | None:
    try:
        return float(json.loads(read_bytes(place / BEGUN))["began"])
    except (UsageError, ValueError, KeyError, TypeError):
        return None
