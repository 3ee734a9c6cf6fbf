"""The judging of a run as one Spark job: row conditions as SQL over `partitions`, the checks in Arrow batches.

    partitions -> a bigint of terms for each row -> the rows that meet a condition, by cluster
                                                            |
    clusters of the run (names and paths) ------------ left join -> mapInArrow: open the case file, run the checks

Only large clusters are read by SQL, in several tasks. A task reads a smaller cluster itself, by columns, which is
quicker. Either way only the rows that meet a condition become Python objects, and none passes through the driver.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kfix.core.derive.partition_facts import NEWER
from kfix.core.derive.predicate import Predicate
from kfix.core.expected import EXPECTED_TYPES
from kfix.fleet.engine import ClusterJob, RunFile, SecondPass, StoredRows
from kfix.fleet.judging.picked import Picked
from kfix_spark.conditions import Terms
from kfix_spark.frames import earlier_frame, files_frame
from kfix_spark.spread import begin_worker

#: The bits of a row that meets no condition, and of one with a column that has no value: such a file is damaged.
_PLAIN: Final = -2
_ODD: Final = -1
_TASKS_A_CORE: Final = 8
#: Names, paths and picked rows are small, but each of them is work for a core.
_BATCH: Final = 16
_DEFAULTS: Final = {"maxPartitionBytes": ("128MB", "134217728b"), "openCostInBytes": ("4MB", "4194304b", "4194304")}
_BYTES: Final = 4
_SPLITS_A_CORE: Final = 4
_SMALLEST: Final = 256 << 10
_OPENING: Final = 32 << 10


#: By cluster: how many rows there are, where the first and the last one are in its file, and those that were picked.
_BY_CLUSTER: Final = """
WITH terms AS (
  SELECT cluster, row, IF({unread}, {odd}L, {bits}) | {once} AS bits FROM {rows}
), marked AS (
  SELECT cluster, row, IF(bits < 0 OR {meets}, bits, {plain}L) AS bits FROM terms
), counted AS (
  SELECT cluster, IF(bits = {plain}L, -1L, row) AS number, bits, count(*) AS n, min(row) AS first, max(row) AS last
  FROM marked GROUP BY 1, 2, 3
)
SELECT cluster, sum(n) AS rows, min(first) AS first, max(last) AS last,
       collect_list(IF(bits = {plain}L, NULL, struct(number, bits))) AS picked
FROM counted GROUP BY cluster
"""


def _known(name: str) -> str:
    """Returns the column; in a file that is older than the column, the value that it implies."""
    older = NEWER.get(name)
    if older is None:
        return f"`{name}`"
    return f"COALESCE(`{name}`, {f'`{older}`' if isinstance(older, str) else older}) AS `{name}`"


#: An expression that is not deterministic is evaluated once: the optimizer does not copy it into each condition.
_ONCE: Final = "CAST(spark_partition_id() & 0 AS BIGINT)"


class RowJob:
    """One job over a session that nothing else uses; `close` drops its views and restores its settings."""

    def __init__(self, session: Any, cores: int, job: ClusterJob) -> None:
        self._session = session
        self._cores = cores
        self._job = job
        self._views: list[str] = []
        self._settings: dict[str, str] = {}

    def answers(self, *, picks: bool) -> Any:
        """Returns a DataFrame with the answers; without `picks` each task evaluates the conditions itself."""
        job = self._job
        self._set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_BATCH))
        parts = max(1, min(job.tasks.num_rows, _TASKS_A_CORE * self._cores))
        given = self._session.createDataFrame(job.tasks).repartition(parts, "cluster")
        if job.before is not None:
            given = given.join(earlier_frame(self._session, job.before, job.brief), "cluster", "left")
        terms = Terms(job.conditions) if picks and job.large else None
        if terms is not None:
            given = given.join(self._by_cluster(terms), "cluster", "left")
        return given.mapInArrow(WorkOnBatches(job.work, terms), from_arrow_schema(job.answers))

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
        for name in self._views:
            self._session.catalog.dropTempView(name)
        for name, value in self._settings.items():
            self._session.conf.set(name, value)

    def _set(self, name: str, value: str) -> None:
        self._settings.setdefault(name, self._session.conf.get(name))
        self._session.conf.set(name, value)

    def _by_cluster(self, terms: Terms) -> Any:
        stored = self._job.rows
        large = sorted(self._job.large)
        files = tuple(file for file in stored.files if _has_some(file, large))
        self._split(sum(file.rows for file in files))
        older = [each for name in terms.columns if isinstance(each := NEWER.get(name), str)]
        wanted = dict.fromkeys(("cluster", *terms.columns, *older))
        schema = pa.schema([stored.schema.field(name) for name in wanted])
        rows = files_frame(self._session, StoredRows(schema, stored.folder, files))
        rows = rows.where(rows["cluster"].isin(large))
        rows = rows.selectExpr("cluster", "_metadata.row_index AS row", *map(_known, terms.columns))
        statement = _BY_CLUSTER.format(
            rows=self._view(self._with_expected(rows)),
            unread=" OR ".join(f"`{name}` IS NULL" for name in terms.columns) or "false",
            bits=terms.bits,
            meets=f"({terms.meets('bits')})",
            once=_ONCE,
            odd=_ODD,
            plain=_PLAIN,
        )
        return self._session.sql(statement)

    def _with_expected(self, rows: Any) -> Any:
        """Adds the expected values: literals if they are the same for all clusters, else by a broadcast join."""
        expected = self._job.tasks.select(["cluster", *EXPECTED_TYPES])
        different = expected.group_by([*EXPECTED_TYPES]).aggregate([])
        if different.num_rows == 1:
            [values] = different.to_pylist()
            return rows.selectExpr("*", *(f"{value}L AS {name}" for name, value in values.items()))
        return rows.join(self._session.createDataFrame(expected).hint("broadcast"), "cluster")

    def _split(self, rows: int) -> None:
        """Reads in some tasks for each core, unless the operator has set the size of a task. Rows are a few bytes each:
        by the defaults of Spark a whole fleet would be one task, and each file as much work as 4 MB.
        """
        share = rows * _BYTES // (_SPLITS_A_CORE * max(self._cores, 1))
        wanted = {"maxPartitionBytes": min(max(share, _SMALLEST), 128 << 20), "openCostInBytes": _OPENING}
        for name, value in wanted.items():
            key = f"spark.sql.files.{name}"
            if self._session.conf.get(key) in _DEFAULTS[name]:
                self._set(key, str(value))

    def _view(self, frame: Any) -> str:
        name = f"kfix_{uuid4().hex}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name


def _has_some(file: RunFile, names: Sequence[str]) -> bool:
    """Returns whether the file may have one of these clusters, which are sorted."""
    if file.clusters is None:
        return True
    first, last = file.clusters
    return bisect_left(names, first) < bisect_right(names, last)


class WorkOnBatches:
    """Does the work for batches of clusters in a worker; `terms` are those of picked rows, None if there are none."""

    def __init__(self, work: Callable[[Mapping[str, Any], Picked | None], Any], terms: Terms | None) -> None:
        self._work = work
        self._terms = terms

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        begin_worker()
        met = cache(self._terms.met) if self._terms is not None else None
        for batch in batches:
            for row in batch.to_pylist():
                picked = None if met is None or self._terms is None else _picked(row, self._terms, met)
                yield self._work(row, picked)


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


def _picked(row: Mapping[str, Any], terms: Terms, met: Callable[[int], tuple[Predicate, ...]]) -> Picked | None:
    """Returns the picked rows of a cluster; None where they cannot be relied on: then the task reads the file, which
    finds out what is wrong with it.
    """
    rows, first, last = row["rows"], row["first"], row["last"]
    if rows is None or last - first + 1 != rows or any(each["bits"] < 0 for each in row["picked"]):
        return None
    numbers: dict[str, list[int]] = {c.text: [] for c in terms.conditions}
    for each in sorted(row["picked"], key=itemgetter("number")):
        for condition in met(each["bits"]):
            numbers[condition.text].append(each["number"] - first)
    return Picked(rows, numbers)
