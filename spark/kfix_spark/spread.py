"""Runs work on many names as Spark tasks, with the semantics of `kfix.fleet.pool.each`.

Tasks receive names and read their own files. A task is a chunk of names, a wave is some tasks per core; two waves are
in progress, so that results arrive while others are computed and no core waits for the slowest task of a wave.

Spark itself repeats a task whose process or machine died. If that fails, the whole job is lost without showing which
name caused it: its chunks are then repeated one by one, then the names of the failing chunk; a name that kills its
process again is a failure.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillAtWorkError
from functools import cache
from typing import Any, Protocol, TypeVar

from kfix.core.errors import KfixError, UsageError
from kfix.fleet.pool import Done, many, single_threaded

A = TypeVar("A")
R = TypeVar("R")
_LARGEST_CHUNK = 64
_SMALLEST_CHUNK = 16
_TASKS_A_CORE = 2
_WAVES = 2
_LOOK_AFTER = 2.0
_Chunk = list[tuple[str, Any]]
_LARGEST = "spark.driver.maxResultSize"
DIED = "its process died: out of memory, or killed"


class TasksDiedError(Exception):
    """A job was lost because the process or machine of a task died in every attempt of Spark."""


class FileNotReadError(Exception):
    """A job failed, and neither its workers nor their Python are the reason: Spark could not read a file."""


class SparkCluster(Protocol):
    """A Spark cluster, by RDDs or by Connect."""

    def cores(self) -> int: ...

    def act(self, action: Callable[[], A]) -> A:
        """Returns the result of an action on a DataFrame.

        Raises TasksDiedError if tasks died, FileNotReadError if Spark could not read a file, KfixError if the cluster
        cannot run any task.
        """
        ...

    def run(self, tasks: Sequence[bytes]) -> list[bytes]:
        """Returns the result of `do` for each task, in order.

        Raises as `act`.
        """
        ...

    def mark(self) -> None:
        """Marks the jobs of this thread, so that `cancel` stops them."""
        ...

    def watch(self) -> None:
        """Is called regularly during the work. Raises KfixError if the work cannot finish."""
        ...

    def ended(self) -> KfixError:
        """Returns the error of work that got no answer."""
        ...

    def cancel(self) -> None: ...


def each(
    cluster: SparkCluster, dumps: Callable[[Any], bytes], work: Callable[[A], R], items: Mapping[str, A]
) -> Iterator[Done[R]]:
    """Yields the results in the order of the names. Raises KfixError if the cluster is lost or cannot run kfix."""
    left = deque(items.items())
    packed = dumps(work)
    ahead: deque[Future[list[Done[R]]]] = deque()
    threads = ThreadPoolExecutor(_WAVES, "kfix-spark")
    try:
        while left or ahead:
            while left and len(ahead) < _WAVES:
                ahead.append(threads.submit(_wave, cluster, dumps, packed, _next_wave(left, cluster.cores())))
            yield from _waited(ahead.popleft(), cluster)
    finally:
        # Closing the iterator, also by Ctrl-C, stops the work.
        for future in ahead:
            future.cancel()
        cluster.cancel()
        threads.shutdown(wait=True, cancel_futures=True)


def watched(cluster: SparkCluster, action: Callable[[], A]) -> A:
    """Returns the result of an action, as `SparkCluster.act`. Ctrl-C stops the job."""
    return awaited(cluster, lambda: cluster.act(action))


def awaited(cluster: SparkCluster, action: Callable[[], A]) -> A:
    """Returns the result of an action, or raises its error. Raises KfixError if the cluster is lost meanwhile."""
    with ThreadPoolExecutor(1, "kfix-spark") as threads:
        future = threads.submit(action)
        try:
            return _waited(future, cluster)
        except BaseException:
            cluster.cancel()
            raise


def _waited(future: Future[A], cluster: SparkCluster) -> A:
    while True:
        try:
            return future.result(_LOOK_AFTER)
        except StillAtWorkError:
            cluster.watch()


def _next_wave(left: deque[tuple[str, Any]], cores: int) -> list[_Chunk]:
    """Yields chunks that shrink towards the end, so that no core waits long; not too small, since a task has a cost."""
    share = len(left) // (_WAVES * _TASKS_A_CORE * max(cores, 1))
    size = max(1, min(_LARGEST_CHUNK, max(share, min(_SMALLEST_CHUNK, len(left) // max(cores, 1)))))
    chunks: list[_Chunk] = []
    while left and len(chunks) < _TASKS_A_CORE * max(cores, 1):
        chunks.append([left.popleft() for _ in range(min(size, len(left)))])
    return chunks


def _wave(
    cluster: SparkCluster, dumps: Callable[[Any], bytes], work: bytes, chunks: Sequence[_Chunk]
) -> list[Done[Any]]:
    try:
        found = cluster.run([dumps((work, chunk)) for chunk in chunks])
    except TasksDiedError:
        if len(chunks) > 1:
            return [done for chunk in chunks for done in _wave(cluster, dumps, work, [chunk])]
        [chunk] = chunks
        if len(chunk) > 1:
            return [done for item in chunk for done in _wave(cluster, dumps, work, [[item]])]
        return [Done(chunk[0][0], None, DIED)]
    except FileNotReadError as error:
        raise lost(str(error)) from None
    return [done for answer in found for done in _opened(answer)]


def _opened(answer: bytes) -> list[Done[Any]]:
    found = pickle.loads(answer)  # noqa: S301 - our own tasks'
    if isinstance(found, str):
        raise UsageError(f"the workers cannot run kfix: {found}", hint="install kafka-kfix[fleet] where they run")
    return list(found)


@cache
def begin_worker() -> None:
    """Prepares a worker for its first task."""
    single_threaded()


def do(task: bytes) -> bytes:
    """Runs one task on the worker. If its code cannot be loaded there, the driver gets the error and aborts at once."""
    begin_worker()
    try:
        packed, chunk = pickle.loads(task)  # noqa: S301 - our own driver's
        work = pickle.loads(packed)  # noqa: S301
    except Exception as error:  # noqa: BLE001
        return pickle.dumps(f"{type(error).__name__}: {error}")
    done = many(work, chunk)
    try:
        return pickle.dumps(done)
    except Exception as error:  # noqa: BLE001 - one result that cannot travel
        return pickle.dumps([_portable(one, error) for one in done])


def _portable(done: Done[Any], error: Exception) -> Done[Any]:
    try:
        pickle.dumps(done)
    except Exception:  # noqa: BLE001
        return Done(done.name, None, f"internal error: cannot pickle its result: {type(error).__name__}", done.seconds)
    return done


def too_large(said: str) -> KfixError | None:
    """Returns the error if Spark says that the driver refuses an answer: then none of its rows may be missing."""
    if _LARGEST not in said:
        return None
    return lost("an answer is too large for the driver", hint=f"--spark-conf {_LARGEST}=4g, or 0 for any size")


def lost(reason: str, hint: str = "") -> KfixError:
    return KfixError(f"the work on Spark was lost: {reason}", hint=hint)
