"""Where the parts meet: which adapter serves which question. The command line calls these; nothing below knows them."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from kfix.adapters.collect.collector import Wanted, collect
from kfix.adapters.live import LiveCluster
from kfix.adapters.saved import files
from kfix.adapters.saved.store import SnapshotStore
from kfix.adapters.target import Target, make_target
from kfix.adapters.zookeeper.connect import parse_connect
from kfix.errors import RefusedError, UnreachableError, UsageError
from kfix.model.finding import Diagnosis
from kfix.model.inventory import ClusterEntry
from kfix.model.places import state_home
from kfix.model.snapshot import Mode, Snapshot

if TYPE_CHECKING:
    from kfix.adapters.fleet.judge import Bench
    from kfix.fleet.collected import CollectedCluster
    from kfix.fleet.engine import Engine
    from kfix.runbook.testing import Fixtures

DEBOUNCE = 10.0
RESTART_GRACE = 120.0
_WITHOUT_SPARK = "without --spark the embedded engine works, and needs no Java"

__all__ = ["DEBOUNCE", "RESTART_GRACE", "Target", "diagnose_live", "diagnose_saved", "look", "make_target"]


def look(target: Target, *, groups: tuple[str, ...] = (), keep: bool = True) -> Snapshot:
    """One look, whatever it shows."""
    store = SnapshotStore(_state_home())
    snapshot = collect(target, Wanted(groups=groups, recall=store.recall))
    if keep:
        store.keep(snapshot)
    return snapshot


def _state_home() -> Path | None:
    """None where there is no such place: a look must not fail for want of a memory."""
    try:
        return state_home(os.environ)
    except UsageError:
        return None


def diagnose_live(
    target: Target,
    *,
    groups: tuple[str, ...] = (),
    debounce: float = DEBOUNCE,
    restart_grace: float = RESTART_GRACE,
    prevention: bool = False,
    keep: bool = True,
    waiting: Callable[[float], None] = lambda _: None,
) -> tuple[Diagnosis, Snapshot]:
    """`waiting` hears the seconds between two looks (docs/adr/003).

    A second look is taken only where the first shows what an ordinary election or restart also shows for a moment, and
    where ZooKeeper's own times do not already prove that it has lasted.
    """
    with _without_collector():
        first = _InTheBackground(lambda: look(target, groups=groups, keep=keep))
        # The catalogue is loaded while the cluster answers: 60 ms that nobody waits for.
        from kfix_diagnostics.engine import Options, diagnose, examine, settle_seconds  # noqa: PLC0415

        options = Options(restart_grace=restart_grace, prevention=prevention)
        seen, earlier = examine(first.result(), options), None
        pause = settle_seconds(seen, debounce, options)
        if pause > 0:
            waiting(pause)
            time.sleep(pause)
            seen, earlier = examine(look(target, groups=groups, keep=keep), options), seen
        return diagnose(seen, earlier=earlier, options=options), seen.case.snapshot


class _InTheBackground:
    """A daemon thread, so that Ctrl-C ends the command and not only the wait."""

    def __init__(self, work: Callable[[], Snapshot]) -> None:
        self._work = work
        self._snapshot: Snapshot | None = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="kfix look", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._snapshot = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error

    def result(self) -> Snapshot:
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._snapshot is not None
        return self._snapshot


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """A look makes many objects and no cycles: Python's cycle collector would walk all of them, over and over."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def load_snapshot(path: Path) -> Snapshot:
    """A snapshot file, or text pasted from `kafka-topics --describe` and its kin.

    Imports inside functions keep each command's start light: nobody pays for the parts that another command uses.
    """
    from kfix.adapters.describe_text import parse_describe_text  # noqa: PLC0415

    text = files.read_text(path)
    return (
        files.parse(text, path)
        if files.is_snapshot(text)
        else parse_describe_text(text, str(path), path.stat().st_mtime)
    )


def diagnose_saved(
    path: Path, *, restart_grace: float = RESTART_GRACE, prevention: bool = False
) -> tuple[Diagnosis, Snapshot]:
    from kfix_diagnostics.engine import Options, diagnose  # noqa: PLC0415

    snapshot = load_snapshot(path)
    return diagnose(snapshot, options=Options(restart_grace=restart_grace, prevention=prevention)), snapshot


def open_cluster(target: Target, snapshot: Snapshot | None = None) -> LiveCluster:
    """Reader and changer for a run; without a snapshot the cluster is looked at once to learn its addresses."""
    known = snapshot or collect(target)
    if known.cluster.mode is Mode.KRAFT:
        raise RefusedError("this cluster runs on KRaft: this release heals clusters on ZooKeeper only")
    if target.zookeeper is None and not known.cluster.zookeeper:
        raise UnreachableError("no broker tells where its ZooKeeper is", hint="give --zookeeper HOST:PORT[/chroot]")
    connect = target.zookeeper or parse_connect(known.cluster.zookeeper)
    return LiveCluster(target, connect, known.cluster, known.addresses)


def runbook_fixtures() -> Fixtures:
    """The sick clusters in memory that runbooks name in their tests."""
    from kfix.adapters.memory.incidents import ALL  # noqa: PLC0415

    return ALL


def judge_stored(
    table: str,
    *,
    restart_grace: float = RESTART_GRACE,
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
    restart_grace: float = RESTART_GRACE,
    prevention: bool = True,
    expected_rf: int | None = None,
    expected_min_isr: int | None = None,
) -> tuple[Diagnosis, Snapshot]:
    """As `judge_stored`; the snapshot reads its partitions only when it is asked for them."""
    with _without_collector():
        with with_fleet():
            from kfix.adapters.fleet.judge import judge  # noqa: PLC0415
        return judge(table, _bench(restart_grace, prevention, expected_rf, expected_min_isr))


def look_entry(entry: ClusterEntry, *, remember: bool = True) -> Snapshot:
    """One look at a cluster of the fleet, with what earlier looks remember of its groups and brokers.

    What this one knows is noted for the next; the snapshot itself is the run's, and is not kept a second time.
    """
    config = Path(entry.command_config) if entry.command_config else None
    target = make_target(entry.bootstrap, entry.zookeeper, config, entry.timeout)
    store = SnapshotStore(_state_home())
    snapshot = collect(target, Wanted(recall=store.recall))
    if remember:
        store.note(snapshot)
    return snapshot


def collect_one(entry: ClusterEntry, run: str, *, remember: bool = False) -> CollectedCluster:
    """One cluster into a run, by the run's path or URL: what a Spark task does. `finish_run` in the parent counts it.

    KfixError where the cluster cannot be looked at; StoreError where the run cannot be written. A worker's home is
    nobody's memory: by itself it notes nothing there.
    """
    with with_fleet():
        from kfix.adapters.fleet.places import place_of  # noqa: PLC0415
        from kfix.fleet.collected import look_and_store  # noqa: PLC0415

        return look_and_store(entry, partial(look_entry, remember=remember), place_of(run))


@contextlib.contextmanager
def with_fleet() -> Iterator[None]:
    """UsageError where what the fleet store needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"a fleet store needs {error.name}", hint="pip install 'kafka-kfix[fleet]'") from None


@cache
def _bench(restart_grace: float, prevention: bool, rf: int | None, min_isr: int | None) -> Bench:
    from kfix.adapters.fleet.judge import Bench  # noqa: PLC0415
    from kfix.model.expected import EXPECTED  # noqa: PLC0415
    from kfix_diagnostics.catalogue import cluster_checks, matcher, partition_checks, predicates  # noqa: PLC0415
    from kfix_diagnostics.engine import Examination, Options, diagnose  # noqa: PLC0415

    options = Options(restart_grace, prevention, rf or EXPECTED.rf, min_isr or EXPECTED.min_isr)
    checks = partition_checks(prevention=prevention)
    return Bench(
        checks,
        predicates(checks),
        matcher(prevention=prevention),
        cluster_checks(prevention=prevention),
        lambda case, hits, found: diagnose(Examination(case, options, hits, found)),
        restart_grace,
        options.expected,
    )


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


def _embedded(processes: int | None) -> Engine:
    try:
        from kfix.fleet.embedded import EmbeddedEngine  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(f"the audit of a fleet needs {error.name}", hint="pip install 'kafka-kfix[fleet]'") from None
    return EmbeddedEngine(processes)
