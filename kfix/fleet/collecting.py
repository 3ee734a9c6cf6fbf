"""Many clusters asked at once, each with its own deadline: one that hangs delays nobody and is a failure with a reason.

A thread a cluster, since a look waits for the network. A look bounds itself; where one does not come back in its time
and a grace, its thread is abandoned: its place is given to the next cluster, and what it finds later is thrown away.
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

from kfix.adapters.cyclic import without_collector
from kfix.adapters.fleet.places import StoreLocation
from kfix.errors import KfixError, StoreError
from kfix.fleet.collected import CollectedCluster, Look, store_look
from kfix.fleet.pool import Done
from kfix.model.audit.inventory import ClusterEntry

#: Of its deadline, and at least so many seconds: a look that is over it, with all that Python does after the answers.
_GRACE, _LEAST_GRACE = 0.2, 1.0
#: How long one that is writing is waited for when the run is given up.
_LAST_WRITE = 5.0


class _ClusterState(Enum):
    LOOKING = 1
    STORING = 2
    ABANDONED = 3


class _Attempt:
    """One cluster under way. Whoever comes first, its look or its deadline, decides what becomes of it."""

    def __init__(self, entry: ClusterEntry) -> None:
        self.entry = entry
        self.began = time.monotonic()
        self.due = self.began + entry.timeout + max(_LEAST_GRACE, _GRACE * entry.timeout)
        self.done: Done[CollectedCluster] | None = None
        self.lost: StoreError | None = None
        self._state = _ClusterState.LOOKING
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(
        self, look: Look, run: StoreLocation, storing: threading.Lock, ended: queue.SimpleQueue[_Attempt]
    ) -> None:
        self._thread = threading.Thread(
            target=self._run, args=(look, run, storing, ended), name=f"kfix collect {self.entry.name}", daemon=True
        )
        self._thread.start()

    def _run(self, look: Look, run: StoreLocation, storing: threading.Lock, ended: queue.SimpleQueue[_Attempt]) -> None:
        name = self.entry.name
        try:
            snapshot = look(self.entry)
            if not self._move(_ClusterState.STORING):
                return
            # One at a time: storing computes, and looks that are under way need the processor for their answers.
            with storing:
                found = store_look(self.entry, snapshot, run)
            self.done = Done(name, found, "", self.took)
        except StoreError as error:
            self.lost = error
        except KfixError as error:
            self.done = Done(name, None, _one_line(str(error)), self.took)
        except BaseException as bug:  # noqa: BLE001 - one cluster that fails is a row, and stops no other
            self.done = Done(name, None, f"internal error: {type(bug).__name__}: {_one_line(str(bug))}", self.took)
        ended.put(self)

    @property
    def took(self) -> float:
        return time.monotonic() - self.began

    def abandon(self) -> bool:
        """From here on it cannot write; False where it is writing already, or has written."""
        return self._move(_ClusterState.ABANDONED)

    def _move(self, state: _ClusterState) -> bool:
        with self._lock:
            if self._state is not _ClusterState.LOOKING:
                return False
            self._state = state
            return True

    def join(self, seconds: float) -> None:
        if self._thread is not None and self._state is _ClusterState.STORING:
            self._thread.join(seconds)


def collect_each(
    entries: Iterable[ClusterEntry], look: Look, run: StoreLocation, *, concurrency: int
) -> Iterator[Done[CollectedCluster]]:
    """Each cluster as soon as it is done, in no order; at most `concurrency` are under way.

    StoreError where the run cannot be written: that is no cluster's failure. Where the iterator is closed, on Ctrl-C
    too, nothing is written any more.
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
                    attempt.start(look, run, storing, ended)
                yield from _next(running, ended)
        finally:
            left = [a for a in running.values() if not a.abandon()]
            last = time.monotonic() + _LAST_WRITE
            for attempt in left:
                attempt.join(max(0.0, last - time.monotonic()))


def _next(running: dict[str, _Attempt], ended: queue.SimpleQueue[_Attempt]) -> Iterator[Done[CollectedCluster]]:
    """Waits for one that is done, or for the first deadline."""
    due = min(a.due for a in running.values())
    # One that is past its deadline is writing: it ends by itself.
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
            yield Done(late.entry.name, None, f"no answer in {late.entry.timeout:g} s, and no end of asking", late.took)


def _one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines())


def _raise_file_limit() -> None:
    """A look has a line a broker: a few hundred clusters' lines are more than many a shell lets a process open."""
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or soft < hard):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(65536, hard) if hard > 0 else 65536, hard))
