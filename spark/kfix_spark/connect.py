"""Spark Connect: a client over gRPC, without Java."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

from pyspark.errors import PySparkException

from kfix.core.errors import KfixError, UsageError
from kfix_spark import masters
from kfix_spark.classic import DEAD, SAME_PYTHON
from kfix_spark.package import make_package
from kfix_spark.session import not_started, one_line, quiet
from kfix_spark.spread import FileNotReadError, TasksDiedError, lost, too_large

A = TypeVar("A")
#: The assumed number of cores, since a Connect server does not report it.
_CORES: Final = 8
_NEEDED: Final = "pip install 'pyspark[connect]'"


@contextlib.contextmanager
def open_connected(master: str, settings: Mapping[str, str]) -> Iterator[tuple[Any, ConnectCluster]]:
    """Returns (session, cluster).

    Raises UsageError if a package is missing, UnreachableError if the server refuses the session.
    """
    try:
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"{masters.shown(master)}: Spark Connect needs more packages: {one_line(error)}", hint=_NEEDED
        ) from None
    try:
        quiet()
        session = SparkSession.builder.remote(master).getOrCreate()
        for name, value in {"spark.sql.session.timeZone": "UTC", **settings}.items():
            session.conf.set(name, value)
        with tempfile.TemporaryDirectory(prefix="kfix-spark-") as folder:
            session.addArtifacts(str(make_package(Path(folder) / "kfix.zip")), pyfile=True)
    except Exception as error:  # noqa: BLE001 - gRPC's, pyspark's
        raise not_started(masters.shown(master), error) from None
    try:
        yield session, ConnectCluster(session)
    finally:
        with contextlib.suppress(Exception):
            session.stop()


class ConnectCluster:
    def __init__(self, session: Any) -> None:
        self._session = session
        self._tag = f"kfix-{uuid4().hex}"

    def cores(self) -> int:
        return _CORES

    def act(self, action: Callable[[], A]) -> A:
        try:
            self.mark()
            return action()
        except PySparkException as error:
            said = str(error)
            if "Traceback (most recent call last)" in said:
                raise UsageError(f"the workers cannot run kfix: {one_line(said)}", hint=SAME_PYTHON) from None
            if "UNAVAILABLE" in said or "SESSION_CLOSED" in said:
                raise lost(one_line(error)) from None
            if refused := too_large(said):
                raise refused from None
            if DEAD.search(said):
                raise TasksDiedError(one_line(error)) from None
            raise FileNotReadError(one_line(error)) from None
        except Exception as error:  # noqa: BLE001 - gRPC's own
            raise lost(one_line(error)) from None

    def mark(self) -> None:
        self._session.addTag(self._tag)

    def ended(self) -> KfixError:
        return lost("the Connect server does not answer")

    def watch(self) -> None:
        """Does nothing: only the server knows its executors."""

    def cancel(self) -> None:
        with contextlib.suppress(Exception):
            self._session.interruptTag(self._tag)
