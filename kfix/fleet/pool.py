"""Work on many names with a pool of processes: results as they come in the order of the names, a failure is a result.

Workers are new processes (`spawn`), each with one thread: they are given names and read their own files. At most a few
chunks a worker are under way, so memory does not grow with the fleet. A worker that dies takes nobody with it: what was
under way is tried again name by name, and the one that kills its worker once more is a failure.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kfix.errors import KfixError

A = TypeVar("A")
R = TypeVar("R")
#: Chunks under way for each worker: one is worked on, one waits.
_AHEAD = 2
_LARGEST_CHUNK = 16
_Item = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """`result`, or the `error` in one line. `seconds` is the time it took in its worker."""

    name: str
    result: R | None
    error: str = ""
    seconds: float = 0.0

    def value(self) -> R:
        """KfixError where it failed."""
        if self.error or self.result is None:
            raise KfixError(f"{self.name}: {self.error or 'nothing came back'}")
        return self.result


def each(work: Callable[[A], R], items: Mapping[str, A], *, processes: int | None = None) -> Iterator[Done[R]]:
    """`work` is a function that can be named (pickled). With `processes=1` it runs here, without any other process."""
    count = processes or min(os.cpu_count() or 1, 32)
    if count == 1 or len(items) < 2:
        for item in items.items():
            yield _one(work, item)
        return
    size = max(1, min(_LARGEST_CHUNK, len(items) // (4 * count)))
    pairs = [*items.items()]
    chunks = deque(pairs[i : i + size] for i in range(0, len(pairs), size))
    yield from _Pool(work, min(count, len(chunks))).run(chunks)


class _Pool(Generic[R]):
    def __init__(self, work: Callable[[Any], R], processes: int) -> None:
        self._work = work
        self._processes = processes

    def run(self, chunks: deque[list[_Item]]) -> Iterator[Done[R]]:
        pool = self._new(self._processes)
        ahead: deque[tuple[list[_Item], Future[list[Done[R]]]]] = deque()
        try:
            while chunks or ahead:
                broken = False
                try:
                    while chunks and len(ahead) < _AHEAD * self._processes:
                        ahead.append((chunks[0], pool.submit(many, self._work, chunks[0])))
                        chunks.popleft()
                    found = ahead[0][1].result()
                except BrokenProcessPool:
                    broken = True
                if not broken:
                    ahead.popleft()
                    yield from found
                    continue
                # Nobody can tell which of them it was: those that are not done are done alone, in their order.
                pool.shutdown(wait=True)
                for chunk, future in ahead:
                    whole = future.done() and future.exception() is None
                    yield from future.result() if whole else self._alone(chunk)
                ahead.clear()
                pool = self._new(self._processes)
        finally:
            # On Ctrl-C too: what has not begun is given up, what is under way ends by itself within one chunk.
            pool.shutdown(wait=True, cancel_futures=True)

    def _alone(self, chunk: Sequence[_Item]) -> Iterator[Done[R]]:
        pool = self._new(1)
        try:
            for item in chunk:
                try:
                    yield from pool.submit(many, self._work, [item]).result()
                except BrokenProcessPool:
                    yield Done(item[0], None, "its process died: out of memory, or killed")
                    pool.shutdown(wait=True)
                    pool = self._new(1)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _new(self, processes: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_start)


def _start() -> None:
    """Ctrl-C is the parent's matter. One thread a worker, since there is a worker a core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    single_threaded()


def single_threaded() -> None:
    """For a process that shares its machine with one such process a core. What is loaded by now stays."""
    try:
        import pyarrow as pa  # noqa: PLC0415
    except ModuleNotFoundError:
        return
    pa.set_cpu_count(1)
    gc.freeze()


def many(work: Callable[[Any], R], chunk: Sequence[_Item]) -> list[Done[R]]:
    """What a worker does with (name, argument) pairs, in this process: whatever the work raises is a result."""
    return [_one(work, item) for item in chunk]


def _one(work: Callable[[Any], R], item: _Item) -> Done[R]:
    name, argument = item
    began = time.perf_counter()
    try:
        result = work(argument)
    except KfixError as error:
        return Done(name, None, str(error), time.perf_counter() - began)
    except Exception as bug:  # noqa: BLE001 - one cluster that fails is a row, and stops no other
        return Done(name, None, f"internal error: {type(bug).__name__}: {_line(bug)}", time.perf_counter() - began)
    return Done(name, result, "", time.perf_counter() - began)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
