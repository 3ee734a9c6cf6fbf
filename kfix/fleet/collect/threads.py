"""Reads many clusters at once, each with its own deadline. A cluster that hangs is a failure and delays no other.

Each cluster has a thread, since reading waits for the network. Reading has its own timeout; if it does not return
within that time and a grace period, its thread is abandoned: the next cluster takes its place, and a late result is
dropped.
"""

from __future__ import annotations

import contextlib
import queue
import resource
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum

from kfix.core.cyclic import without_collector
from kfix.core.errors import KfixError, StoreError
from kfix.core.inventory.model import ClusterEntry
from kfix.fleet.collect.cluster import CollectedCluster, TakeSnapshot, store_snapshot
from kfix.fleet.engines.pool import Done
from kfix.fleet.store.places import StoreLocation

#: The grace period as a share of the deadline, and its minimum in seconds: Python works on after the last answer.
_GRACE, _LEAST_GRACE = 0.2, 1.0
#: Seconds to wait for clusters that are being written when the run is aborted.
_LAST_WRITE = 5.0


class _ClusterState(Enum):
    READING = 1
    STORING = 2
    ABANDONED = 3


class _Attempt:
    """One cluster in progress. Its result or its deadline, whichever comes first, decides the outcome."""

    def __init__(self, entry: ClusterEntry) -> None:
        self.entry = entry
        self.began = time.monotonic()
        self.due = self.began + entry.timeout + max(_LEAST_GRACE, _GRACE * entry.timeout)
        self.done: Done[CollectedCluster] | None = None
        self.lost: StoreError | None = None
        self._state = _ClusterState.READING
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(
        self, take: TakeSnapshot, run: StoreLocation, storing: threading.Lock, ended: queue.SimpleQueue[_Attempt]
    ) -> None:
        self._thread = threading.Thread(
            target=self._run, args=(take, run, storing, ended), name=f"kfix collect {self.entry.name}", daemon=True
        )
        self._thread.start()

    def _run(
        self, take: TakeSnapshot, run: StoreLocation, storing: threading.Lock, ended: queue.SimpleQueue[_Attempt]
    ) -> None:
        name = self.entry.name
        try:
            snapshot = take(self.entry)
            if not self._move(_ClusterState.STORING):
                return
            # One at a time: storing needs the processor, and so do the answers of clusters that are being read.
            with storing:
                found = store_snapshot(self.entry, snapshot, run)
            self.done = Done(name, found, "", self.took)
        except StoreError as error:
            self.lost = error
        except KfixError as error:
            self.done = Done(name, None, _one_line(str(error)), self.took)
        except BaseException as bug:  # noqa: BLE001 - a cluster that fails is one row and does not stop the others
            self.done = Done(name, None, f"internal error: {type(bug).__name__}: {_one_line(str(bug))}", self.took)
        ended.put(self)

    @property
    def took(self) -> float:
        return time.monotonic() - self.began

    def abandon(self) -> bool:
        """Forbids the thread to write. Returns False if it is already writing or has written."""
        return self._move(_ClusterState.ABANDONED)

    def _move(self, state: _ClusterState) -> bool:
        with self._lock:
            if self._state is not _ClusterState.READING:
                return False
            self._state = state
            return True

    def join(self, seconds: float) -> None:
        if self._thread is not None and self._state is _ClusterState.STORING:
            self._thread.join(seconds)


def collect_each(
    entries: Iterable[ClusterEntry], take: TakeSnapshot, run: StoreLocation, *, concurrency: int
) -> Iterator[Done[CollectedCluster]]:
    """Yields each cluster as soon as it is done, in no fixed order; at most `concurrency` are in progress.

    Raises StoreError if the run cannot be written, which is not the failure of a cluster. Once the iterator is closed,
    also by Ctrl-C, nothing more is written.
    """
    waiting = deque(entries)
    running = dict[str, _Attempt]()
    ended = queue.SimpleQueue[_Attempt]()
    storing = threading.Lock()
    _raise_file_limit()
    with without_collector():
        try:
            while waiting or running:
                while waiting and len(running) < concurrency:
                    attempt = _Attempt(waiting.popleft())
                    running[attempt.entry.name] = attempt
                    attempt.start(take, run, storing, ended)
                yield from _next(running, ended)
        finally:
            left = [a for a in running.values() if not a.abandon()]
            last = time.monotonic() + _LAST_WRITE
            for attempt in left:
                attempt.join(max(0.0, last - time.monotonic()))


def _next(running: dict[str, _Attempt], ended: queue.SimpleQueue[_Attempt]) -> Iterator[Done[CollectedCluster]]:
    """Waits for the next result or the first deadline."""
    due = min(a.due for a in running.values())
    # An attempt past its deadline is writing and ends by itself.
    left = due - time.monotonic()
    with contextlib.suppress(queue.Empty):
        attempt = ended.get(timeout=left if left > 0 else 0.1)
        if running.pop(attempt.entry.name, None) is not None:
            if attempt.lost is not None:
                raise attempt.lost
            assert attempt.done is not None
            yield attempt.done
    now = time.monotonic()
    for late in [a for a in running.values() if a.due <= now]:
        if late.abandon():
            del running[late.entry.name]
            yield Done(
                late.entry.name,
                None,
                f"no answer within {late.entry.timeout:g} s; the attempt was abandoned",
                late.took,
            )


def _one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines())


def _raise_file_limit() -> None:
    """Raises the limit of open files: a connection per broker of some hundred clusters exceeds many shells' limit."""
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or soft < hard):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, hard) if hard > 0 else 65536, hard))
