"""What a fleet is served by: stored clusters judged, clusters collected, and the engine that carries it out.

Workers and Spark tasks import this by name: what they do not need is imported where it is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kfix.adapters.cyclic import without_collector
from kfix.errors import UsageError
from kfix.model.audit.inventory import ClusterEntry
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import Diagnosis
from kfix.model.timing import TIMING

if TYPE_CHECKING:
    from kfix.fleet.collected import CollectedCluster
    from kfix.fleet.engine import Engine

_WITHOUT_SPARK = "without --spark the embedded engine works, and needs no Java"


def judge_stored(
    table: str,
    *,
    restart_grace: float = TIMING.restart_grace,
    prevention: bool = True,
    expected_rf: int | None = None,
    expected_min_isr: int | None = None,
) -> Diagnosis:
    """One cluster of a fleet store, by the path or URL of its partitions. Workers and Spark tasks are given its name.

    UsageError where pyarrow is not installed, and for a file that is not what it should be.
    """
    return open_and_judge(table, restart_grace, prevention, expected_rf, expected_min_isr)[0]


def open_and_judge(
    table: str,
    restart_grace: float = TIMING.restart_grace,
    prevention: bool = True,
    expected_rf: int | None = None,
    expected_min_isr: int | None = None,
) -> tuple[Diagnosis, Snapshot]:
    """As `judge_stored`; the snapshot reads its partitions only when it is asked for them."""
    with without_collector():
        with with_fleet():
            from kfix.fleet.judging.case import open_stored  # noqa: PLC0415
        from kfix.model.expected import EXPECTED  # noqa: PLC0415
        from kfix_diagnostics.engine import Options, diagnose, examine_case  # noqa: PLC0415

        options = Options(restart_grace, prevention, expected_rf or EXPECTED.rf, expected_min_isr or EXPECTED.min_isr)
        case = open_stored(table, restart_grace, options.expected)
        return diagnose(examine_case(case, options)), case.snapshot


def collect_one(entry: ClusterEntry, run: str, *, remember: bool = False) -> CollectedCluster:
    """One cluster into a run, by the run's path or URL: what a Spark task does. `finish_run` in the parent counts it.

    KfixError where the cluster cannot be looked at; StoreError where the run cannot be written. A worker's home is
    nobody's memory: by itself it notes nothing there.
    """
    with with_fleet():
        from kfix.adapters.fleet.places import place_of  # noqa: PLC0415
        from kfix.app.snapshots import look_entry  # noqa: PLC0415
        from kfix.fleet.collected import look_and_store  # noqa: PLC0415

        return look_and_store(entry, partial(look_entry, remember=remember), place_of(run))


@contextlib.contextmanager
def with_fleet() -> Iterator[None]:
    """UsageError where what the fleet store needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"a fleet store needs {error.name}", hint="pip install 'kafka-kfix[fleet]'") from None


@contextlib.contextmanager
def engine(
    spark: str | None = None, processes: int | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Engine]:
    """The pool of `processes` (None: one a core) with DuckDB, or Spark at this master: `local[*]`, `spark://...`,
    `yarn`, `k8s://...`, `sc://...`, `submit` (the one spark-submit was given). `settings` are Spark's, before ours.

    UsageError where a package or Java is missing, or the master is none; UnreachableError where nobody answers there.
    """
    if spark is None:
        yield _embedded(processes)
        return
    if processes is not None:
        raise UsageError("--processes is for the embedded engine", hint="Spark is told in its master: local[4]")
    if find_spec("pyspark") is None:
        raise UsageError("Spark needs pyspark", hint=f"pip install 'kafka-kfix[spark]'; {_WITHOUT_SPARK}")
    try:
        from kfix_spark.engine import open_engine  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"Spark needs {error.name}", hint="pip install 'kafka-kfix[spark]'") from None
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
    """As `engine`; on Spark small second stages are answered here, unless `sql_on_spark`."""
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
        raise UsageError(f"the audit of a fleet needs {error.name}", hint="pip install 'kafka-kfix[fleet]'") from None
    return EmbeddedEngine(processes)
