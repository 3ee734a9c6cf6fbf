"""Spark as an engine: its tasks run the work function, its SQL evaluates the second stage."""

import contextlib
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.engines.engine import Engine, View, plain
from kfix.fleet.engines.pool import Done
from kfix_spark import masters, spread
from kfix_spark.catalog import register
from kfix_spark.classic import JavaCluster
from kfix_spark.frames import files_frame
from kfix_spark.session import one_line, open_session, version

A = TypeVar("A")
R = TypeVar("R")
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_AT: Final = re.compile(r"\(?\bline (\d+),? pos(?:ition)? (\d+)\)?")
_SESSION: Final = (
    "spark.sql.adaptive.enabled",
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
)
#: The rows of one table above which a statement runs on Spark, which takes 1 to 15 s for one on few rows, since it is
#: compiled first; DuckDB takes 0.1 s in this process (docs/adr/009). The results are the same (a test compares them).
LARGE: Final = 1_000_000
#: Rows of the largest table for each part of an answer that executors work on.
_ROWS_A_PART: Final = 1_000_000
#: Spark estimates a table by its files, to decide whether the driver may broadcast it. A value takes less than a byte
#: there and some 30 in memory: by its usual estimate, Spark broadcasts 10 million rows of `partitions`.
_BYTES_IN_MEMORY: Final = ("spark.sql.sources.fileCompressionFactor", "100.0")


class SparkEngine:
    """An engine over a session that the caller closes; see `open_engine`."""

    def __init__(self, session: Any, cluster: spread.SparkCluster, name: str, small: Engine | None = None) -> None:
        self._session = session
        self._cluster = cluster
        self._name = name
        self._small = small

    @property
    def name(self) -> str:
        return self._name

    @property
    def cores(self) -> int:
        return self._cluster.cores()

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        """Yields the results in the order of the names.

        Raises KfixError if the cluster is lost, UsageError if its workers cannot run kfix.
        """
        return spread.each(self._session, self._cluster, work, items)

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        """Returns a pyarrow.Table with the types of `answers.plain`. The statement is one of kfix itself: Spark's SQL
        runs processes and Java, so a user's statement is for the embedded engine (ADR 48).

        Raises UsageError if the statement is wrong, KfixError if Spark has ended.
        """
        if self._small is not None and _is_small(tables):
            return self._small.query(sql, tables)
        return self._answered(sql, tables, lambda frame: plain(frame.toArrow()))

    def over_parts(
        self, sql: str, tables: Mapping[str, Any], order: Sequence[str], work: Callable[[Iterator[Any]], R]
    ) -> list[R]:
        """Works on the executors. Raises as `query`, and UnreachableError if a process died."""
        if self._small is not None and _is_small(tables):
            return self._small.over_parts(sql, tables, order, work)
        parts = 1 + max(map(_rows, tables.values())) // _ROWS_A_PART

        def done(frame: Any) -> list[R]:
            sorted_parts = frame.repartition(parts, "cluster").sortWithinPartitions(*order)
            made = self._cluster.act(sorted_parts.mapInArrow(spread.WorkOnRows(work), "made binary").toArrow)
            return [pickle.loads(each) for each in made.column(0).to_pylist()]  # noqa: S301 - our own workers'

        try:
            return self._answered(sql, tables, done)
        except (spread.TasksDiedError, spread.FileNotReadError) as error:
            raise UnreachableError(f"Spark could not do the work: {error}") from None

    def _answered(self, sql: str, tables: Mapping[str, Any], action: Callable[[Any], A]) -> A:
        """Returns what the action makes of a statement's DataFrame."""

        def answer() -> A:
            self._cluster.mark()
            return action(session.sql(sql))

        try:
            with self._views(tables) as session:
                return spread.awaited(self._cluster, answer)
        except (PySparkException, Py4JError, OSError) as error:
            raise self._told(error) from None
        except pa.ArrowException as error:
            raise UsageError(f"the query failed: {one_line(error)}") from None

    def register(self, schema: str, root: str, tables: Mapping[str, str]) -> None:
        """Makes the tables known to Spark's catalog.

        Raises UsageError if Spark has no connector for Delta, or another table has the name; KfixError if it has ended.
        """
        try:
            register(self._session, schema, root, tables)
        except (PySparkException, Py4JError, OSError) as error:
            raise self._told(error, "the catalog refused") from None

    def _told(self, error: Exception, what: str = "the query failed") -> KfixError:
        try:
            said = str(error).strip()  # asks Java for its text
        except (Py4JError, OSError):
            said = ""
        if not said or isinstance(error, (Py4JNetworkError, OSError)) or _unanswered(error, said):
            return self._cluster.ended()
        return spread.too_large(said) or _user_error(said, error, what)

    @contextlib.contextmanager
    def _views(self, tables: Mapping[str, Any]) -> Iterator[Any]:
        """Opens a session for this query only, with these tables and no access to other files."""
        session = _fresh(self._session)
        factor, enough = _BYTES_IN_MEMORY
        before = session.conf.get(factor)
        made = []
        try:
            if before == "1.0":
                session.conf.set(factor, enough)
            for name, given in tables.items():
                if not _NAME.fullmatch(name):
                    raise UsageError(f"{name!r} is not a valid table name: use letters, digits and underscores")
                _frame(session, given).createOrReplaceTempView(name)
                made.append(name)
            session.conf.set("spark.sql.runSQLOnFiles", "false")
            yield session
        finally:
            with contextlib.suppress(PySparkException, Py4JError, OSError):  # The first error counts.
                for name in made:
                    session.catalog.dropTempView(name)
                session.conf.set(factor, before)


def _is_small(tables: Mapping[str, Any]) -> bool:
    return all(_rows(given) <= LARGE for given in tables.values())


def _rows(given: Any) -> int:
    if isinstance(given, View):
        return 0  # counted with the tables that it reads
    return int(given.num_rows if isinstance(given, pa.Table) else given.rows)


def _fresh(session: Any) -> Any:
    """Returns a new session of the same context with the operator's settings. A Connect session is already ours."""
    if not hasattr(session, "_jsparkSession"):
        return session
    fresh = session.newSession()
    for name in _SESSION:
        fresh.conf.set(name, session.conf.get(name))
    return fresh


def _frame(session: Any, given: Any) -> Any:
    if isinstance(given, View):
        return session.sql(given.sql)
    if isinstance(given, pa.Table):
        return session.createDataFrame(plain(given))
    return files_frame(session, given) if given.files else session.createDataFrame(plain(given.schema.empty_table()))


def _user_error(said: str, error: Exception, what: str) -> KfixError:
    first = one_line(error) if said.startswith("An error occurred while") else said.splitlines()[0]
    first = re.sub(r"^\[[A-Z0-9_.]+\] ", "", re.sub(r"\s*\(?\bSQLSTATE: \w+\)?.*", "", first))[:300]
    found = _AT.search(said)
    if not found:
        return UsageError(f"{what}: {first}")
    # "pos" counts from 0, "position" from 1.
    column = int(found[2]) + ("position" not in found[0])
    return UsageError(f"{what}: line {found[1]}, column {column}: {first}")


def _unanswered(error: Exception, said: str) -> bool:
    """Returns whether Java gave no answer at all: py4j's error then has neither an exception of Java nor a trace."""
    return isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError) and "Trace:" not in said


@contextlib.contextmanager
def open_engine(master: str, settings: Mapping[str, str], *, small_sql_here: bool = False) -> Iterator[SparkEngine]:
    """Opens Spark at a master URL. With `small_sql_here`, statements over few rows run in this process.

    Raises UsageError if Java is missing or the master is not valid, UnreachableError if it does not answer.
    """
    small = EmbeddedEngine(1) if small_sql_here else None
    if master.startswith("sc://"):
        masters.check(master)
        from kfix_spark.connect import open_connected  # noqa: PLC0415

        with open_connected(master, settings) as (session, cluster):
            yield SparkEngine(session, cluster, f"spark {session.version} {masters.shown(master)}", small)
        return
    with open_session(master, settings) as (session, java):
        context = session.sparkContext
        yield SparkEngine(session, JavaCluster(context, java), f"spark {version()} {context.master}", small)
