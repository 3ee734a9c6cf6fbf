"""One collection run, new or resumed: reads its clusters in parallel, and writes its manifest. None is changed."""

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from kfix.core.errors import StoreError, UnreachableError, UsageError
from kfix.core.inventory.load import Loaded
from kfix.core.inventory.recorded import record_entry, record_mute
from kfix.diagnose.snapshots import read_entry
from kfix.fleet.collect.cluster import CollectedCluster, TakeSnapshot, collect_one, snapshot_facts, stored_earlier
from kfix.fleet.collect.processes import collect_fleet
from kfix.fleet.engines.engine import Engine
from kfix.fleet.engines.pool import Done
from kfix.fleet.store.listing import unfinished_day
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import Run, is_complete, read_run
from kfix.fleet.store.staging import RunWriter, new_id

MOST = 1000


def check_bounds(concurrency: int, processes: int | None) -> None:
    """Raises UsageError for a number out of range; call it before a run begins."""
    if not 1 <= concurrency <= MOST:
        raise UsageError(f"--concurrency: {concurrency} is not between 1 and {MOST}")
    if processes is not None and not 1 <= processes <= MOST:
        raise UsageError(f"--processes: {processes} is not between 1 and {MOST}")


class Collection:
    """A collection run. `there` are the chosen clusters that an earlier attempt wrote; they are not read again."""

    def __init__(self, store: str | os.PathLike[str], loaded: Loaded, day: date | None = None, run: str = "") -> None:
        """Begins or resumes a run. The default of `day` is the day of the unfinished run `run`, else today (UTC).

        Raises UsageError if that run is complete or its name is not valid, StoreError if the store cannot be written.
        """
        root = place_of(store)
        known = unfinished_day(root, run) if run and day is None else None
        self.day = day or known or datetime.now(UTC).date()
        self.id = run or new_id()
        self._writer = RunWriter(root, self.day, self.id)
        self._writer.begin()
        self.place = self._writer.place
        self._loaded = loaded
        self._done = [*_earlier(self._writer, loaded)]
        self.there = tuple(d.name for d in self._done)
        self._began = time.monotonic()
        self._how: dict[str, object] = {}

    def results(
        self, take: TakeSnapshot, *, concurrency: int = 32, processes: int | None = None, timeout: float | None = None
    ) -> Iterator[Done[CollectedCluster]]:
        """Yields each cluster as soon as it is done. `timeout` in seconds overrides the inventory.

        With several processes `take` must be picklable. Raises StoreError if the store cannot be written; the run can
        be resumed.
        """
        check_bounds(concurrency, processes)
        entries = [e for n, e in self._loaded.inventory.clusters.items() if n not in self.there]
        if timeout is not None:
            entries = [replace(e, timeout=timeout) for e in entries]
        self._how = {"concurrency": concurrency, "timeout": timeout}
        for done in collect_fleet(entries, take, self.place, concurrency=concurrency, processes=processes):
            self._done.append(done)
            yield done

    def results_on(
        self, engine: Engine, collect_one: Callable[..., CollectedCluster], *, timeout: float | None = None
    ) -> Iterator[Done[CollectedCluster]]:
        """Does the same as tasks of an engine, one per cluster: `collect_one(entry, run=...)`, imported by name.

        The workers must reach the clusters and the store.
        """
        entries = {n: e for n, e in self._loaded.inventory.clusters.items() if n not in self.there}
        if timeout is not None:
            entries = {n: replace(e, timeout=timeout) for n, e in entries.items()}
        self._how = {"engine": engine.name, "timeout": timeout}
        for done in engine.each(partial(collect_one, run=str(self.place)), entries):
            self._done.append(done)
            yield done

    def finish(self) -> Run:
        """Writes the manifest, which completes the run, and returns it.

        A cluster whose files exist counts as collected, whichever attempt wrote them; any other has failed, with a
        reason. The manifest holds `entries` (by name: the inventory entry, and `seconds`, `taken_at`, `silent` of the
        snapshot), `mutes`, `inventory` (origin, sha256), `host`, `python`, and how it was collected. Raises StoreError
        if it cannot be written.
        """
        became, inventory = {d.name: d for d in self._done}, self._loaded.inventory
        there = {n: c.result if (c := became.get(n)) and c.result else None for n in self._writer.there()}
        found = {n: known or stored_earlier(self.place, n) for n, known in there.items()}
        failed = {n: _why(became.get(n)) for n in inventory.clusters if n not in found}
        entries: dict[str, dict[str, Any]] = {n: record_entry(e) for n, e in inventory.clusters.items()}
        for name, one in found.items():
            entries.setdefault(name, {}).update(snapshot_facts(one))
        for name in failed:
            entries[name]["seconds"] = round(became[name].seconds, 3) if name in became else 0.0
        try:
            return self._writer.finish(
                failed,
                entries=entries,
                mutes=[record_mute(m) for m in inventory.mutes],
                inventory={"origin": inventory.origin, "sha256": self._loaded.sha256},
                host=platform.node(),
                python=platform.python_version(),
                resumed=len(self.there),
                seconds=round(self.seconds, 3),
                **self._how,
            )
        except UnreachableError as error:
            raise StoreError(str(error)) from None

    @property
    def seconds(self) -> float:
        """The duration of this attempt so far."""
        return time.monotonic() - self._began


def _earlier(writer: RunWriter, loaded: Loaded) -> Iterator[Done[CollectedCluster]]:
    """Yields the clusters that an earlier attempt wrote. A cluster with a damaged document is read again."""
    there = set(writer.there())
    for name in loaded.inventory.clusters:
        if name in there:
            with contextlib.suppress(UsageError):
                yield Done(name, stored_earlier(writer.place, name))


def already_complete(store: str | os.PathLike[str], day: date | None, run: str) -> Run | None:
    """Returns the complete run of that name (of today if `day` is None), None if it is not complete."""
    root = place_of(store)
    of = day or datetime.now(UTC).date()
    return read_run(root, of, run) if is_complete(root, of, run) else None


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


def _why(done: Done[CollectedCluster] | None) -> str:
    return "was not read" if done is None else done.error or "no result was returned"
