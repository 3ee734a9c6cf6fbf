"""Collects with all cores: each worker process has its share of the clusters and a thread per cluster.

Decoding and storing are bound by the processor, and a Python process uses one core. Workers write into the run and
send the result of each cluster to the parent. A worker that dies is replaced once, for its unfinished clusters.
"""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from kfix.core.errors import StoreError
from kfix.core.inventory.model import ClusterEntry
from kfix.fleet.collect.cluster import CollectedCluster, TakeSnapshot
from kfix.fleet.collect.threads import collect_each
from kfix.fleet.engines.pool import Done
from kfix.fleet.store.places import StoreLocation, place_of

#: The least clusters per process: starting a process takes as long as reading several clusters.
_SHARE = 12
_ATTEMPTS = 2


def collect_fleet(
    entries: Sequence[ClusterEntry],
    take: TakeSnapshot,
    run: StoreLocation,
    *,
    concurrency: int = 32,
    processes: int | None = None,
) -> Iterator[Done[CollectedCluster]]:
    """Does the same as `collect_each`, with several processes for a large fleet; then `take` must be picklable."""
    count = processes or min(os.cpu_count() or 1, len(entries) // _SHARE)
    count = max(1, min(count, concurrency, len(entries)))
    if count == 1:
        yield from collect_each(entries, take, run, concurrency=concurrency)
        return
    workers = [
        _Worker(take, run, entries[i::count], concurrency // count + (i < concurrency % count)) for i in range(count)
    ]
    try:
        for worker in workers:
            worker.start()
        while running := {c.line: c for c in workers if c.line is not None}:
            for line in wait([*running]):
                yield from running[line].hear()  # type: ignore[index]
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    def __init__(
        self, take: TakeSnapshot, run: StoreLocation, entries: Sequence[ClusterEntry], concurrency: int
    ) -> None:
        self._take, self._run, self._concurrency = take, str(run), concurrency
        self._left = {e.name: e for e in entries}
        self._attempts = 0
        self._process: Any = None
        self.line: Connection | None = None

    def start(self) -> None:
        self._attempts += 1
        spawn = multiprocessing.get_context("spawn")
        self.line, theirs = spawn.Pipe(duplex=False)
        share = [*self._left.values()]
        self._process = spawn.Process(
            target=work, args=(theirs, self._take, self._run, share, self._concurrency), daemon=True
        )
        with _no_ctrl_c():
            self._process.start()
        theirs.close()

    def hear(self) -> Iterator[Done[CollectedCluster]]:
        """Yields the next result of the worker. Raises StoreError if the worker cannot write the store."""
        assert self.line is not None
        try:
            message = self.line.recv()
        except (EOFError, OSError):
            self.stop()
            if self._left and self._attempts < _ATTEMPTS:
                self.start()
                return
            for name in self._left:
                yield Done(name, None, "its process died: out of memory, or killed")
            self._left.clear()
            return
        if isinstance(message, str):
            raise StoreError(message)
        self._left.pop(message.name, None)
        yield message

    def stop(self) -> None:
        """Stops the process at once: a partially written file is still temporary."""
        if self.line is not None:
            self.line.close()
            self.line = None
        if self._process is not None:
            self._process.terminate()
            self._process.join()
            self._process = None


@contextlib.contextmanager
def _no_ctrl_c() -> Iterator[None]:
    """Blocks Ctrl-C for a process that starts here, even during its imports; this process receives it afterwards."""
    was = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, was)


def work(line: Connection, take: TakeSnapshot, run: str, entries: Sequence[ClusterEntry], concurrency: int) -> None:
    """The main function of a worker. The parent handles Ctrl-C; without a parent it ends at the next cluster."""
    code = 0
    try:
        import pyarrow as pa  # noqa: PLC0415

        pa.set_cpu_count(1)
        for done in collect_each(entries, take, place_of(run), concurrency=concurrency):
            line.send(done)
    except StoreError as error:
        line.send(str(error))
    except BrokenPipeError:
        code = 1
    line.close()
    # Do not wait for abandoned threads.
    os._exit(code)
