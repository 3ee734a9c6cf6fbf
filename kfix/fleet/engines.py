"""Judging stored clusters, collecting clusters, and choosing the engine that runs both.

Workers and Spark tasks import this module by name, so heavy imports are local to the functions that need them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from kfix.core.criteria import Criteria
from kfix.core.cyclic import without_collector
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.errors import UsageError
from kfix.core.extras import install
from kfix.core.inventory.model import ClusterEntry
from kfix.core.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from kfix.fleet.collected import CollectedCluster
    from kfix.fleet.engine import Engine
    from kfix.fleet.store.runs import StoredCluster

#: How an audit judges a cluster.
_AS_AUDITED: Final = Criteria(prevention=True)
_WITHOUT_SPARK = "without --spark the embedded engine is used, which needs no Java"


def judge_stored(stored: StoredCluster, criteria: Criteria = _AS_AUDITED) -> Diagnosis:
    """Returns the diagnosis of one cluster of a run (`Run.stored`), word for word that of its snapshot.

    Raises UsageError if pyarrow is not installed or a file is damaged.
    """
    return open_and_judge(stored, criteria)[0]


def open_and_judge(stored: StoredCluster, criteria: Criteria) -> tuple[Diagnosis, Snapshot]:
    """Returns the diagnosis, as `judge_stored` does, and the snapshot, which reads its partitions on demand."""
    with without_collector():
        with with_fleet():
            from kfix.fleet.judging.case import open_stored  # noqa: PLC0415
        from kfix_diagnostics.engine import diagnose, examine_case  # noqa: PLC0415

        case = open_stored(stored, criteria)
        return diagnose(examine_case(case)), case.snapshot


def collect_one(entry: ClusterEntry, run: str, *, remember: bool = False) -> CollectedCluster:
    """Reads one cluster into the run at this path or URL; Spark tasks call this. The parent's `finish_run` counts it.

    Unless `remember` is set, nothing is noted in the state folder: a worker's home is not the operator's. Raises
    KfixError if the cluster cannot be read and StoreError if the run cannot be written.
    """
    with with_fleet():
        from kfix.diagnose.snapshots import read_entry  # noqa: PLC0415
        from kfix.fleet.collected import collect_and_store  # noqa: PLC0415
        from kfix.fleet.store.places import place_of  # noqa: PLC0415

        return collect_and_store(entry, partial(read_entry, remember=remember), place_of(run))


@contextlib.contextmanager
def with_fleet() -> Iterator[None]:
    """Raises UsageError if a package of the fleet store is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"a fleet store needs {error.name}", hint=install("fleet")) from None


@contextlib.contextmanager
def engine(
    spark: str | None = None, processes: int | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Engine]:
    """Opens DuckDB with a pool of `processes` (None: one per core), or Spark at the master `spark`.

    Masters are `local[*]`, `spark://...`, `yarn`, `k8s://...`, `sc://...` and `submit` (the session of spark-submit).
    `settings` override kfix's Spark settings. Raises UsageError if a package or Java is missing or the master is not
    valid, UnreachableError if the master does not answer.
    """
    if spark is None:
        yield _embedded(processes)
        return
    if processes is not None:
        raise UsageError("--processes is for the embedded engine", hint="set it in Spark's master: local[4]")
    if find_spec("pyspark") is None:
        raise UsageError("Spark needs pyspark", hint=f"{install('spark')}; {_WITHOUT_SPARK}")
    try:
        from kfix_spark.engine import open_engine  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"Spark needs {error.name}", hint=install("spark")) from None
    with open_engine(spark, settings or {}) as one:
        yield one


@contextlib.contextmanager
def audit_engine(
    spark: str | None = None,
    processes: int | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    sql_on_spark: bool = False,
) -> Iterator[Engine]:
    """Opens an engine as `engine` does. With Spark, small SQL stages run in the driver unless `sql_on_spark` is set."""
    with engine(spark, processes, settings) as one:
        if spark is None or sql_on_spark:
            yield one
            return
        from kfix.fleet.stage import Staged  # noqa: PLC0415

        yield Staged(one, _embedded(1))


def _embedded(processes: int | None) -> Engine:
    try:
        from kfix.fleet.embedded import EmbeddedEngine  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"the audit of a fleet needs {error.name}", hint=install("fleet")) from None
    return EmbeddedEngine(processes)
