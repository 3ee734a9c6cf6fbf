"""Runs work on many names as Spark tasks, with the semantics of `kfix.fleet.engines.pool.each`.

A task is a row of a DataFrame: a chunk of names, which reads its own files (`mapInArrow`). A job has some tasks per
core, so that no core waits long for the last one.

Spark itself repeats a task whose process or machine died. If that fails, the whole job is lost without showing which
name caused it: its halves are then repeated, and theirs; a name that kills its process again is a failure.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillAtWorkError
from functools import cache
from typing import Any, Final, Protocol, TypeVar

import pyarrow as pa
from pyspark import cloudpickle

from kfix.core.errors import KfixError, UsageError
from kfix.fleet.engines.pool import Done, many, single_threaded

A = TypeVar("A")
R = TypeVar("R")
_LARGEST_CHUNK: Final = 16
_TASKS_A_CORE: Final = 8
_LOOK_AFTER: Final = 2.0
_LARGEST: Final = "spark.driver.maxResultSize"
_ANSWERS: Final = "at bigint, answer binary"
DIED: Final = "its process died: out of memory, or killed"


class TasksDiedError(Exception):
    """A job was lost because the process or machine of a task died in every attempt of Spark."""


class FileNotReadError(Exception):
    """A job failed, and neither its workers nor their Python are the reason: Spark could not read a file."""


class SparkCluster(Protocol):
    """A Spark cluster: a Java process of ours, or a Connect server."""

    def cores(self) -> int: ...

    def act(self, action: Callable[[], A]) -> A:
        """Returns the result of an action on a DataFrame.

        Raises TasksDiedError if tasks died, FileNotReadError if Spark could not read a file, KfixError if the cluster
        cannot run any task.
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


def each(session: Any, cluster: SparkCluster, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
    """Yields the results in the order of the names. Raises KfixError if the cluster is lost or cannot run kfix."""
    pairs, tasks = [*items.items()], _TASKS_A_CORE * cluster.cores()
    size = max(1, min(_LARGEST_CHUNK, len(pairs) // tasks))

    def run(chunks: Sequence[Sequence[tuple[str, A]]]) -> list[bytes]:
        rows = pa.table({"at": range(len(chunks)), "task": [cloudpickle.dumps((work, chunk)) for chunk in chunks]})
        given = session.createDataFrame(rows).repartitionByRange(len(chunks), "at")
        found = given.mapInArrow(_do_all, _ANSWERS).toArrow().sort_by("at")
        answers: list[bytes] = found["answer"].to_pylist()
        return answers

    for at in range(0, len(pairs), size * tasks):
        yield from _done(cluster, run, pairs[at : at + size * tasks], size)


def _done(
    cluster: SparkCluster, run: Callable[[Any], list[bytes]], pairs: Sequence[tuple[str, Any]], size: int
) -> Iterator[Done[Any]]:
    chunks = [pairs[at : at + size] for at in range(0, len(pairs), size)]
    try:
        answers = awaited(cluster, lambda: cluster.act(lambda: run(chunks)))
    except TasksDiedError:
        if len(pairs) == 1:
            yield Done(pairs[0][0], None, DIED)
            return
        half = len(pairs) // 2
        for part in (pairs[:half], pairs[half:]):
            yield from _done(cluster, run, part, min(size, half))
        return
    except FileNotReadError as error:
        raise lost(str(error)) from None
    for answer in answers:
        yield from _opened(answer)


def awaited(cluster: SparkCluster, action: Callable[[], A]) -> A:
    """Returns the result of an action, or raises its error. Raises KfixError if the cluster is lost meanwhile.

    Ctrl-C stops the job.
    """
    with ThreadPoolExecutor(1, "kfix-spark") as threads:
        future = threads.submit(action)
        while True:
            try:
                return future.result(_LOOK_AFTER)
            except StillAtWorkError:
                try:
                    cluster.watch()
                except BaseException:
                    cluster.cancel()
                    raise
            except KeyboardInterrupt:
                cluster.cancel()
                raise


def _do_all(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        answers = pa.array(map(do, batch.column("task").to_pylist()), pa.binary())
        yield pa.RecordBatch.from_arrays([batch.column("at"), answers], names=["at", "answer"])


class WorkOnRows:
    """Does the work for all rows of a Spark partition in a worker; its result is pickled."""

    def __init__(self, work: Callable[[Iterator[Any]], Any]) -> None:
        self._work = work

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        begin_worker()
        made = pickle.dumps(self._work(iter(batches)))
        yield pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], names=["made"])


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
        work, chunk = pickle.loads(task)  # noqa: S301 - our own driver's
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
