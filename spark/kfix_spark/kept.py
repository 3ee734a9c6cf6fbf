"""The answers of a job that stay with Spark: kept by its executors, read in parts, and the input of a second pass."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.storagelevel import StorageLevel

from kfix.fleet.engine import ClusterJob, SecondPass
from kfix_spark import spread
from kfix_spark.rowjob import RowJob


class AnswersInSpark:
    """`kept` is the DataFrame of the answers, `run` the job that made it."""

    def __init__(self, cluster: spread.SparkCluster, run: RowJob, kept: Any, summary: Any) -> None:
        self._cluster = cluster
        self._run = run
        self._kept = kept
        self._summary = summary

    @property
    def summary(self) -> Any:
        return self._summary

    def read(self) -> Any:
        """Returns all columns of the answers as a pyarrow table. Raises KfixError if the cluster is lost."""
        return spread.watched(self._cluster, self._kept.toArrow)

    def again(self, second: SecondPass) -> Any:
        """Returns what the work yields as a pyarrow table; None if a process died, or a file could not be read."""
        try:
            return spread.watched(self._cluster, lambda: self._run.again(self._kept, second).toArrow())
        except (spread.TasksDiedError, spread.FileNotReadError):
            return None


@contextlib.contextmanager
def kept_answers(session: Any, cluster: spread.SparkCluster, job: ClusterJob) -> Iterator[AnswersInSpark]:
    """Opens the answers of a job, which the executors keep on their disks.

    Raises TasksDiedError if a process died, FileNotReadError if Spark cannot read a file, ImportError if pandas is not
    installed, KfixError if the cluster is lost.
    """
    run = RowJob(session, cluster.cores(), job)
    with contextlib.ExitStack() as stack:
        stack.callback(run.close)
        kept = spread.watched(cluster, lambda: run.answers().persist(StorageLevel.DISK_ONLY))
        stack.callback(_forgotten, kept)
        summary = spread.watched(cluster, lambda: kept.select(*job.summary).toArrow())
        yield AnswersInSpark(cluster, run, kept, summary)


def _forgotten(kept: Any) -> None:
    """A cluster that is lost keeps nothing."""
    with contextlib.suppress(PySparkException, OSError):
        kept.unpersist()
