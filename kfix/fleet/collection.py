"""One run of collecting, begun or gone on with: which clusters are asked, what became of each, and its manifest."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

from kfix.adapters.fleet.listing import unfinished_day
from kfix.adapters.fleet.places import MANIFEST, exists, place_of, run_place
from kfix.adapters.fleet.runs import Run, RunWriter, new_id, read_run
from kfix.errors import UsageError
from kfix.fleet.collected import CollectedCluster, Look, stored_earlier
from kfix.fleet.crews import collect_fleet
from kfix.fleet.engine import Engine
from kfix.fleet.inventory.load import Loaded
from kfix.fleet.manifest import finish_run
from kfix.fleet.pool import Done

MOST = 1000


def check_bounds(concurrency: int, processes: int | None) -> None:
    """UsageError, best before a run is begun."""
    if not 1 <= concurrency <= MOST:
        raise UsageError(f"--concurrency: {concurrency} is not between 1 and {MOST}")
    if processes is not None and not 1 <= processes <= MOST:
        raise UsageError(f"--processes: {processes} is not between 1 and {MOST}")


class Collection:
    """`there` are chosen clusters that an earlier attempt has written: they are not asked again."""

    def __init__(self, store: str | os.PathLike[str], loaded: Loaded, day: date | None = None, run: str = "") -> None:
        """Without `day` it is today's (UTC), or that of the unfinished run called `run`.

        UsageError where that run is complete or its name is none; StoreError where the store takes nothing.
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
        self, look: Look, *, concurrency: int = 32, processes: int | None = None, timeout: float | None = None
    ) -> Iterator[Done[CollectedCluster]]:
        """Each cluster as soon as it is done. `timeout` goes before the inventory's own; seconds.

        With several processes `look` is one that can be pickled. StoreError ends it: the run can be gone on with.
        """
        check_bounds(concurrency, processes)
        entries = [e for n, e in self._loaded.inventory.clusters.items() if n not in self.there]
        if timeout is not None:
            entries = [replace(e, timeout=timeout) for e in entries]
        self._how = {"concurrency": concurrency, "timeout": timeout}
        for done in collect_fleet(entries, look, self.place, concurrency=concurrency, processes=processes):
            self._done.append(done)
            yield done

    def results_on(
        self, engine: Engine, collect_one: Callable[..., CollectedCluster], *, timeout: float | None = None
    ) -> Iterator[Done[CollectedCluster]]:
        """The same as tasks of an engine, one a cluster: `collect_one(entry, run=...)`, known by its name. The workers
        reach the clusters, and write the store, by themselves.
        """
        entries = {n: e for n, e in self._loaded.inventory.clusters.items() if n not in self.there}
        if timeout is not None:
            entries = {n: replace(e, timeout=timeout) for n, e in entries.items()}
        self._how = {"engine": engine.name, "timeout": timeout}
        for done in engine.each(partial(collect_one, run=str(self.place)), entries):
            self._done.append(done)
            yield done

    def finish(self) -> Run:
        """StoreError where the manifest cannot be written."""
        return finish_run(
            self._writer, self._loaded, self._done, resumed=len(self.there), seconds=round(self.seconds, 3), **self._how
        )

    @property
    def seconds(self) -> float:
        """Of this attempt."""
        return time.monotonic() - self._began


def _earlier(writer: RunWriter, loaded: Loaded) -> Iterator[Done[CollectedCluster]]:
    """What an earlier attempt wrote; a cluster whose document is damaged is asked again."""
    there = set(writer.there())
    for name in loaded.inventory.clusters:
        if name in there:
            with contextlib.suppress(UsageError):
                yield Done(name, stored_earlier(writer.place, name))


def already_complete(store: str | os.PathLike[str], day: date | None, run: str) -> Run | None:
    """The run of that name, today's unless a day is named, where it is complete: it is not collected again."""
    root = place_of(store)
    place = run_place(root, day or datetime.now(UTC).date(), run)
    return read_run(place) if exists(place / MANIFEST) else None
