"""A process pool over many names. Results come in the order of the names; a failure is a result.

Workers are new processes (`spawn`) with one thread each; they receive names and read their own files. At most a few
chunks per worker are in progress, so memory does not grow with the fleet. If a worker dies, its work is repeated name
by name; a name that kills its worker again is a failure and affects no other.
"""

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

from kfix.core.errors import KfixError

A = TypeVar("A")
R = TypeVar("R")
#: Chunks in progress per worker: one is processed, one waits.
_AHEAD = 2
_LARGEST_CHUNK = 16
_Item = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """The `result` of one name, or the `error` in one line. `seconds` is the time spent in the worker."""

    name: str
    result: R | None
    error: str = ""
    seconds: float = 0.0

    def value(self) -> R:
        """Returns the result. Raises KfixError if the work failed."""
        if self.error or self.result is None:
            raise KfixError(f"{self.name}: {self.error or 'no result was returned'}")
        return self.result


def each(work: Callable[[A], R], items: Mapping[str, A], *, processes: int | None = None) -> Iterator[Done[R]]:
    """Yields the result of `work` for each item; `work` must be picklable. `processes=1` runs it in this process."""
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
                # It is unknown which item killed the worker: the unfinished ones are repeated alone, in order.
                pool.shutdown(wait=True)
                for chunk, future in ahead:
                    whole = future.done() and future.exception() is None
                    yield from future.result() if whole else self._alone(chunk)
                ahead.clear()
                pool = self._new(self._processes)
        finally:
            # Also on Ctrl-C: chunks that have not begun are cancelled, the others end by themselves.
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
    """Prepares a worker: the parent handles Ctrl-C, and each worker has one thread, since there is one per core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    single_threaded()


def single_threaded() -> None:
    """Limits this process to one thread, since each core has such a process. Objects loaded so far are never freed."""
    try:
        import pyarrow as pa  # noqa: PLC0415
    except ModuleNotFoundError:
        return
    pa.set_cpu_count(1)
    gc.freeze()


def many(work: Callable[[Any], R], chunk: Sequence[_Item]) -> list[Done[R]]:
    """Runs the work on (name, argument) pairs in this process. An exception becomes a result."""
    return [_one(work, item) for item in chunk]


def _one(work: Callable[[Any], R], item: _Item) -> Done[R]:
    name, argument = item
    began = time.perf_counter()
    try:
        result = work(argument)
    except KfixError as error:
        return Done(name, None, str(error), time.perf_counter() - began)
    except Exception as bug:  # noqa: BLE001 - a cluster that fails is one row and does not stop the others
        return Done(name, None, f"internal error: {type(bug).__name__}: {_line(bug)}", time.perf_counter() - began)
    return Done(name, result, "", time.perf_counter() - began)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
