"""One collection run, new or resumed: the clusters to read, the result of each, and the manifest."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

from kfix.core.errors import UsageError
from kfix.core.inventory.load import Loaded
from kfix.fleet.collected import CollectedCluster, TakeSnapshot, stored_earlier
from kfix.fleet.engine import Engine
from kfix.fleet.manifest import finish_run
from kfix.fleet.pool import Done
from kfix.fleet.store.listing import unfinished_day
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import Run, is_complete, read_run
from kfix.fleet.store.staging import RunWriter, new_id
from kfix.fleet.workers import collect_fleet

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
        """Writes the manifest and returns the run. Raises StoreError if the manifest cannot be written."""
        return finish_run(
            self._writer, self._loaded, self._done, resumed=len(self.there), seconds=round(self.seconds, 3), **self._how
        )

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
