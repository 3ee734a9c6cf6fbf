"""Opens a Spark session with settings for short jobs, or takes the session of spark-submit.

Java's output goes to a file, not to the terminal; if Spark does not start, its reason is shown in one line.
"""

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix_spark import masters
from kfix_spark.archive import Archive, archive_for
from kfix_spark.java import INSTEAD, find_java
from kfix_spark.package import make_package

#: docs/spark.md shows the effect of each setting.
DEFAULTS: Final[Mapping[str, str]] = {
    "spark.app.name": "kfix audit",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_DRIVER_MEMORY: Final = "1g"
#: For a job on few cores: one garbage collector thread, and the slow compiler for very hot code only. With the usual
#: thresholds, a tenth of these, it takes half of the CPU time of a short job; without it long ones take twice as long.
#: A Java without memory must end: the thread that lacks it dies, and whoever waits for its answer waits forever.
_JAVA: Final = (
    "-XX:+ExitOnOutOfMemoryError "
    "-XX:+UseSerialGC -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
#: The newest Java for Spark 4.0 and 4.1: their Arrow does not work on newer versions.
NEWEST_JAVA: Final = 23
_ENDS_WITHIN: Final = 60.0
_REASON: Final = re.compile(r"(?:Exception|Error)(?: in [^:]*)?: (.+)|^error: (.+)", re.IGNORECASE)


@contextlib.contextmanager
def open_session(
    master: str, settings: Mapping[str, str]
) -> Iterator[tuple[SparkSession, subprocess.Popen[bytes] | None]]:
    """Opens a session, and returns with it the Java process that was started for it, None if it is another's.

    `settings` override kfix's own. Whatever was started is stopped at the end.

    Raises UsageError and UnreachableError with one line each.
    """
    masters.check(master)
    active = SparkContext._active_spark_context  # noqa: SLF001 - there is no public question for it
    if active is not None:
        # The session of a notebook or a test: only session settings are changed, and it is not stopped here.
        session = SparkSession(active).newSession()
        for name, value in settings.items():
            session.conf.set(name, value)
        yield session, None
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            with _context(_conf(master, settings, ""), None) as context:
                yield SparkSession(context), None
        else:
            with _own_java(master, settings) as (context, java):
                yield SparkSession(context), java
    finally:
        with contextlib.suppress(ValueError, TypeError):
            signal.signal(signal.SIGINT, before)


def _conf(master: str, settings: Mapping[str, str], options: str) -> SparkConf:
    ours = dict(DEFAULTS)
    if master != masters.SUBMITTED:
        ours["spark.master"] = master
    if masters.is_local(master):
        # Elsewhere the web page, the event log and the log level are settings of the cluster.
        ours |= {"spark.sql.shuffle.partitions": str(masters.cores(master)), "spark.ui.enabled": "false"}
    if masters.here(master):
        ours |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    ours["spark.sql.sources.parallelPartitionDiscovery.parallelism"] = str(max(masters.cores(master), 4))
    if options:
        ours |= {"spark.driver.memory": _DRIVER_MEMORY, "spark.driver.extraJavaOptions": options}
    wanted = {**ours, **settings}
    if options and settings.get("spark.driver.extraJavaOptions"):
        wanted["spark.driver.extraJavaOptions"] = f"{options} {settings['spark.driver.extraJavaOptions']}"
    conf = SparkConf()
    for name, value in wanted.items():
        # Options of spark-submit override our defaults as well.
        if name in settings or name == "spark.master" or not (options == "" and conf.contains(name)):
            conf.set(name, value)
    return conf


@contextlib.contextmanager
def _own_java(master: str, settings: Mapping[str, str]) -> Iterator[tuple[SparkContext, subprocess.Popen[bytes]]]:
    java = find_java(newest=NEWEST_JAVA if version() < "4.2" else None)
    archive = archive_for(java, Path(_find_spark_home()))
    with tempfile.TemporaryFile(prefix="kfix-spark-") as said:
        conf = _conf(master, settings, f"{_JAVA} {archive.options}".strip())
        try:
            gateway = _launched(conf, said)
        except UsageError:
            if archive.taken is None:
                raise
            archive.drop()
            archive = Archive("")
            conf = _conf(master, settings, _JAVA)
            gateway = _launched(conf, said)
        try:
            with _context(conf, gateway) as context:
                yield context, gateway.proc
        finally:
            _end(gateway, archive)


def _launched(conf: SparkConf, said: IO[bytes]) -> Any:
    try:
        return launch_gateway(conf, {"stdout": said, "stderr": said})
    except PySparkException:
        raise UsageError(f"Spark did not start: {_reason(said)}", hint=INSTEAD) from None


@contextlib.contextmanager
def _context(conf: SparkConf, gateway: Any) -> Iterator[SparkContext]:
    master = conf.get("spark.master", masters.SUBMITTED)
    try:
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:  # noqa: BLE001 - py4j's, pyspark's, the socket's
        raise not_started(str(master), error) from None
    try:
        master = context.master
        if masters.is_local(master):
            context.setLogLevel("OFF")
        quiet()
        if masters.here(master):
            context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
        with tempfile.TemporaryDirectory(prefix="kfix-spark-") as folder:
            if not masters.is_local(master):
                # Executors fetch it from there, including later ones. The name must differ from any in --py-files.
                context.addPyFile(str(make_package(Path(folder) / "kfix-of-driver.zip")))
            yield context
    finally:
        with contextlib.suppress(Exception):
            context.stop()


def _end(gateway: Any, archive: Archive) -> None:
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - otherwise the next session would use the ended Java
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = gateway.proc
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_ENDS_WITHIN)
    except Exception:  # noqa: BLE001 - Ctrl-C comes here as well
        process.kill()
        process.wait()
    archive.settle()


def not_started(master: str, error: BaseException) -> KfixError:
    return UnreachableError(f"{master}: Spark did not start there: {one_line(error)}")


def one_line(error: BaseException | str) -> str:
    """Returns the root cause in Java's output, without the stack."""
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "...", "An error occurred while"))]
    causes = [line for line in lines if line.startswith("Caused by:")] or lines
    return re.sub(r"^(Caused by: |: )*([\w.$]+(Exception|Error): )?", "", causes[-1] if causes else "no reason given")[
        :300
    ]


def _reason(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    for line in lines:
        if found := _REASON.search(line):
            return (found[1] or found[2])[:300]
    return next((line for line in lines if line.strip()), "Java exited immediately")[:300]


def quiet() -> None:
    """Keeps pyspark from logging errors as pages of JSON, since kfix reports them in one line, and from a warning about
    pandas, which only Arrow's way into Python asks for.
    """
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)


def version() -> str:
    return str(pyspark.__version__)
