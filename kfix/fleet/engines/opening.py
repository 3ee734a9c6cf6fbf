"""Chooses and opens the engine of an audit. Without --spark nothing of Spark is imported."""

import contextlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Final

from kfix.core.errors import UsageError
from kfix.core.extras import install
from kfix.fleet.engines.engine import Engine

_WITHOUT_SPARK: Final = "without --spark the embedded engine is used, which needs no Java"


@contextlib.contextmanager
def engine(
    spark: str | None = None,
    processes: int | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    small_sql_here: bool = False,
) -> Iterator[Engine]:
    """Opens DuckDB with a pool of `processes` (None: one per core), or Spark at the master `spark`.

    Masters are `local[*]`, `spark://...`, `yarn`, `k8s://...`, `sc://...` and `submit` (the session of spark-submit).
    `settings` override kfix's Spark settings. With `small_sql_here`, statements over few rows do not run on Spark.
    Raises UsageError if a package or Java is missing or the master is not valid, UnreachableError if the master does
    not answer.
    """
    if spark is None:
        try:
            from kfix.fleet.engines.embedded import EmbeddedEngine  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise UsageError(f"the audit of a fleet needs {error.name}", hint=install("fleet")) from None
        yield EmbeddedEngine(processes)
        return
    if processes is not None:
        raise UsageError("--processes is for the embedded engine", hint="set it in Spark's master: local[4]")
    for needed in ("pyspark", "pandas"):  # Spark's mapInArrow asks for pandas in the driver.
        if find_spec(needed) is None:
            raise UsageError(f"Spark needs {needed}", hint=f"{install('spark')}; {_WITHOUT_SPARK}")
    try:
        from kfix_spark.engine import open_engine  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"Spark needs {error.name}", hint=install("spark")) from None
    with open_engine(spark, settings or {}, small_sql_here=small_sql_here) as one:
        yield one
