"""The judging of a run as one Spark job: the checks in Arrow batches.

    clusters of the run (names and paths) -> mapInArrow: open the case file by columns, run the checks

Only the rows that meet a condition become Python objects, and none passes through the driver.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kfix.fleet.engine import ClusterJob, SecondPass
from kfix_spark.frames import earlier_frame
from kfix_spark.spread import begin_worker

_TASKS_A_CORE: Final = 8
#: Names and paths are small, but each of them is work for a core.
_BATCH: Final = 16


class RowJob:
    """One job over a session that nothing else uses; `close` restores its settings."""

    def __init__(self, session: Any, cores: int, job: ClusterJob) -> None:
        self._session = session
        self._cores = cores
        self._job = job
        self._settings: dict[str, str] = {}

    def answers(self) -> Any:
        """Returns a DataFrame with the answers."""
        job = self._job
        self._set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_BATCH))
        parts = max(1, min(job.tasks.num_rows, _TASKS_A_CORE * self._cores))
        given = self._session.createDataFrame(job.tasks).repartition(parts, "cluster")
        if job.before is not None:
            given = given.join(earlier_frame(self._session, job.before, job.brief), "cluster", "left")
        return given.mapInArrow(WorkOnBatches(job.work), from_arrow_schema(job.answers))

    def again(self, kept: Any, second: SecondPass) -> Any:
        """Returns a DataFrame with what the second work yields; `kept` are the answers."""
        given = self._session.createDataFrame(second.given)
        given = given.join(kept.select("cluster", *second.kept), "cluster", "left")
        before = self._job.before
        if before is not None:
            names = [name for name in before.rows.schema.names if name not in ("day", "run")]
            given = given.join(earlier_frame(self._session, before, names), "cluster", "left")
        tasks = given.repartition(1) if second.tasks == 1 else given.repartitionByRange(second.tasks, "cluster")
        ordered = tasks.sortWithinPartitions("cluster")
        return ordered.mapInArrow(WorkOnPartition(second.work), from_arrow_schema(second.answers))

    def close(self) -> None:
        for name, value in self._settings.items():
            self._session.conf.set(name, value)

    def _set(self, name: str, value: str) -> None:
        self._settings.setdefault(name, self._session.conf.get(name))
        self._session.conf.set(name, value)


class WorkOnBatches:
    """Does the work for batches of clusters in a worker."""

    def __init__(self, work: Callable[[Mapping[str, Any]], Any]) -> None:
        self._work = work

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        begin_worker()
        yield from (self._work(row) for batch in batches for row in batch.to_pylist())


class WorkOnPartition:
    """Does the work for all clusters of a Spark partition in a worker."""

    def __init__(self, work: Callable[[Iterator[Mapping[str, Any]]], Iterator[Any]]) -> None:
        self._work = work

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        begin_worker()
        yield from self._work({"before": None, **row} for batch in batches for row in batch.to_pylist())


class WorkOnRows:
    """Does the work for all rows of a Spark partition in a worker; its result is pickled."""

    def __init__(self, work: Callable[[Iterator[Any]], Any]) -> None:
        self._work = work

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        begin_worker()
        made = pickle.dumps(self._work(iter(batches)))
        yield pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], names=["made"])
