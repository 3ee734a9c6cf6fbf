"""Collecting with all cores: a crew is a process with its share of the clusters, each of them with threads.

Decoding answers and storing looks computes, and Python computes on one core a process. Crews write into the run by
themselves and tell the parent what became of each cluster. One that dies is replaced once, for what it left undone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from kfix.adapters.fleet.places import StoreLocation, place_of
from kfix.errors import StoreError
from kfix.fleet.collected import CollectedCluster, Look
from kfix.fleet.collecting import collect_each
from kfix.fleet.pool import Done
from kfix.model.audit.inventory import ClusterEntry

#: A new process takes as long to start as some looks: fewer clusters are not worth one.
_SHARE = 12
_ATTEMPTS = 2


def collect_fleet(
    entries: Sequence[ClusterEntry],
    look: Look,
    run: StoreLocation,
    *,
    concurrency: int = 32,
    processes: int | None = None,
) -> Iterator[Done[CollectedCluster]]:
    """As `collect_each`, with several processes where the fleet is large. Then `look` is one that can be pickled."""
    count = processes or min(os.cpu_count() or 1, len(entries) // _SHARE)
    count = max(1, min(count, concurrency, len(entries)))
    if count == 1:
        yield from collect_each(entries, look, run, concurrency=concurrency)
        return
    crews = [
        _Crew(look, run, entries[i::count], concurrency // count + (i < concurrency % count)) for i in range(count)
    ]
    try:
        for crew in crews:
            crew.start()
        while running := {c.line: c for c in crews if c.line is not None}:
            for line in wait([*running]):
                yield from running[line].hear()  # type: ignore[index]
    finally:
        for crew in crews:
            crew.stop()


class _Crew:
    def __init__(self, look: Look, run: StoreLocation, entries: Sequence[ClusterEntry], concurrency: int) -> None:
        self._look, self._run, self._concurrency = look, str(run), concurrency
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
            target=work, args=(theirs, self._look, self._run, share, self._concurrency), daemon=True
        )
        with _no_ctrl_c():
            self._process.start()
        theirs.close()

    def hear(self) -> Iterator[Done[CollectedCluster]]:
        """StoreError where the crew cannot write."""
        assert self.line is not None
        try:
            said = self.line.recv()
        except (EOFError, OSError):
            self.stop()
            if self._left and self._attempts < _ATTEMPTS:
                self.start()
                return
            for name in self._left:
                yield Done(name, None, "its process died: out of memory, or killed")
            self._left.clear()
            return
        if isinstance(said, str):
            raise StoreError(said)
        self._left.pop(said.name, None)
        yield said

    def stop(self) -> None:
        """At once: a file that is half written has no name yet."""
        if self.line is not None:
            self.line.close()
            self.line = None
        if self._process is not None:
            self._process.terminate()
            self._process.join()
            self._process = None


@contextlib.contextmanager
def _no_ctrl_c() -> Iterator[None]:
    """A process that begins here never hears it, not even while it still imports; this one hears it afterwards."""
    was = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, was)


def work(line: Connection, look: Look, run: str, entries: Sequence[ClusterEntry], concurrency: int) -> None:
    """A crew's life. Ctrl-C is the parent's matter; a parent that is gone ends it at the next cluster."""
    code = 0
    try:
        import pyarrow as pa  # noqa: PLC0415

        pa.set_cpu_count(1)
        for done in collect_each(entries, look, place_of(run), concurrency=concurrency):
            line.send(done)
    except StoreError as error:
        line.send(str(error))
    except BrokenPipeError:
        code = 1
    line.close()
    # Abandoned threads are not waited for.
    os._exit(code)
