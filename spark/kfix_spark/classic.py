"""A Spark cluster of a session with a Java process: this machine, standalone, YARN or Kubernetes."""

import re
import time
from collections.abc import Callable
from subprocess import Popen
from typing import Any, Final, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException, PythonException

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix_spark.heart import Heart
from kfix_spark.session import one_line
from kfix_spark.spread import FileNotReadError, TasksDiedError, too_large

A = TypeVar("A")
_PATIENCE: Final = 120.0
#: Spark's messages about a lost process or machine, from Python or Java.
DEAD: Final = re.compile(
    "exited unexpectedly|ExecutorLostFailure|Connection reset|OutOfMemoryError|EOFException|Broken pipe|exit code"
)
_PYTHON_FAILED: Final = "org.apache.spark.api.python.PythonException"


class JavaCluster:
    """The cluster of a context; `java` is the process that kfix started for it, if any.

    `patience` is the time in seconds to wait for an executor of a standalone master.
    """

    def __init__(self, context: Any, java: Popen[bytes] | None = None, patience: float = _PATIENCE) -> None:
        self._context = context
        self._group = f"kfix-{uuid4().hex}"
        self._patience = patience
        self._alone_since: float | None = None
        self._heart = Heart(context, java)

    def cores(self) -> int:
        return max(1, int(self._context.defaultParallelism))

    def act(self, action: Callable[[], A]) -> A:
        try:
            self.mark()
            return action()
        except (Py4JJavaError, PySparkException) as error:
            said = str(error)
            if self._stopped():
                raise self._heart.ended("Spark has stopped: its master or all its workers are gone") from None
            if _PYTHON_FAILED in said or isinstance(error, PythonException):
                raise UsageError(f"the workers cannot run kfix: {python_line(said)}", hint=SAME_PYTHON) from None
            if refused := too_large(said):
                raise refused from None
            if DEAD.search(said):
                raise TasksDiedError(one_line(error)) from None
            raise FileNotReadError(one_line(error)) from None
        except (Py4JError, OSError):
            raise self.ended() from None

    def mark(self) -> None:
        self._context.setJobGroup(self._group, "kfix audit")

    def ended(self) -> KfixError:
        return self._heart.ended()

    def watch(self) -> None:
        self._heart.watch()
        if not self._context.master.startswith("spark://") or self._stopped():
            return
        # The list includes the driver.
        if len(self._context._jsc.sc().statusTracker().getExecutorInfos()) > 1:  # noqa: SLF001 - the only way to ask
            self._alone_since = None
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > self._patience:
            raise UnreachableError(
                f"{self._context.master}: no worker accepted the work within {self._patience:.0f} s",
                hint="check the master's web page for running workers with a free core and 1 GB",
            )

    def cancel(self) -> None:
        try:
            self._context.cancelJobGroup(self._group)
        except (Py4JError, OSError, AttributeError):
            return

    def _stopped(self) -> bool:
        try:
            return bool(self._context._jsc.sc().isStopped())  # noqa: SLF001
        except (Py4JError, OSError, AttributeError):
            return True


SAME_PYTHON: Final = "workers need the driver's minor version of Python, and kafka-kfix[fleet]: see docs/spark.md"


def python_line(said: str) -> str:
    """Returns the last line of the worker's traceback."""
    after = said[said.find(_PYTHON_FAILED) :].splitlines()[1:]
    plain = [line for line in after if line and not line.startswith((" ", "\t"))]
    return (plain[0] if plain else "its Python failed")[:300]
