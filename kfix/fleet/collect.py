"""Reads many clusters in parallel into one run of a fleet store. No cluster is changed; none delays another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date

from kfix.core.errors import StoreError, UsageError
from kfix.core.inventory.load import Loaded
from kfix.diagnose.snapshots import read_entry
from kfix.fleet.collection import Collection, check_bounds
from kfix.fleet.engine import Engine
from kfix.fleet.engines import collect_one
from kfix.fleet.store.listing import Listed, listed
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import Run

#: Shows the progress for a number of clusters; the callback receives (name, error or "") of each finished one.
Progress = Callable[[int], AbstractContextManager[Callable[[str, str], None]]]


def collected(
    place: str,
    loaded: Loaded,
    day: date | None,
    run: str | None,
    *,
    progress: Progress,
    say: Callable[[str], None],
    concurrency: int = 32,
    timeout: float | None = None,
    processes: int | None = None,
    on: Engine | None = None,
) -> tuple[Run, Collection]:
    """Returns a new or continued run, read by local threads or as tasks of the engine `on`.

    `timeout` is in seconds per cluster. `say` receives messages for the user. Raises UsageError for invalid limits,
    StoreError if the store cannot be written.
    """
    # An empty option is a mistake, not a new run.
    if run == "":
        raise UsageError("--run: is empty", hint="leave --run out to begin a new run")
    if timeout is not None and not 0 < timeout <= 3600:
        raise UsageError(f"--timeout: {timeout:g} is not between 0 and 3600 seconds")
    check_bounds(concurrency, processes)
    collection = Collection(place, loaded, day, run or "")
    total = len(loaded.inventory.clusters) - len(collection.there)
    if collection.there:
        say(f"continuing run {collection.id}: {len(collection.there)} of its clusters are already stored")
    try:
        with progress(total) as hear:
            results = (
                collection.results(read_entry, concurrency=concurrency, processes=processes, timeout=timeout)
                if on is None
                else collection.results_on(on, collect_one, timeout=timeout)
            )
            for done in results:
                hear(done.name, done.error)
        return collection.finish(), collection
    except (KeyboardInterrupt, StoreError):
        say(f"the run is unfinished; continue it with --run {collection.id} --date {collection.day}")
        raise


def stored_runs(place: str, day: date | None) -> tuple[Listed, ...]:
    """Returns the runs of a store, including unfinished ones, oldest first."""
    return listed(place_of(place), day)
