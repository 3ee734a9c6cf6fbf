"""The parts of the Spark engine that need no Spark: how work is cut and lost, Java's version."""

import pickle
import subprocess
import threading
import time

import pyarrow as pa
import pytest

from kfix.core.errors import KfixError, UsageError
from kfix_spark import heart, spread
from kfix_spark.java import find_java
from tests.waiting import seconds


class Fragile:
    """A Spark with four cores on which a task dies that has the name "deadly"; `jobs` are the sizes of their tasks."""

    def __init__(self):
        self.jobs = []

    def cores(self):
        return 4

    def act(self, action):
        return action()

    def createDataFrame(self, rows):  # noqa: N802 - as Spark calls it
        self._rows = rows
        return self

    def repartitionByRange(self, count, column):  # noqa: N802 - as Spark calls it
        assert (count, column) == (self._rows.num_rows, "at")
        return self

    def mapInArrow(self, work, _schema):  # noqa: N802 - as Spark calls it
        self._work = work
        return self

    def toArrow(self):  # noqa: N802 - as Spark calls it
        chunks = [pickle.loads(task)[1] for task in self._rows["task"].to_pylist()]
        self.jobs.append([len(chunk) for chunk in chunks])
        if any(name == "deadly" for chunk in chunks for name, _ in chunk):
            raise spread.TasksDiedError
        return pa.Table.from_batches(self._work(reversed(self._rows.to_batches(max_chunksize=1))))


def double(n):
    return 2 * n


def locked_from_two(n):
    """The lock of 2 is a result that cannot travel."""
    return threading.Lock() if n >= 2 else n


def test_only_the_cluster_that_kills_its_process_is_lost():
    fragile = Fragile()
    done = [*spread.each(fragile, fragile, double, dict.fromkeys(["a", "deadly", "b", "c"], 1))]
    assert [(each.name, each.error or each.result) for each in done] == [
        ("a", 2), ("deadly", spread.DIED), ("b", 2), ("c", 2)
    ]  # fmt: skip


def test_a_worker_that_cannot_run_kfix_ends_the_work():
    with pytest.raises(UsageError, match="workers cannot run kfix"):
        spread._opened(pickle.dumps("ModuleNotFoundError: kfix"))


def test_a_result_that_cannot_travel_is_the_only_one_that_is_lost():
    one, other = pickle.loads(spread.do(pickle.dumps((locked_from_two, [("a", 1), ("b", 2)]))))
    assert one.value() == 1
    assert "cannot pickle its result" in other.error


def test_work_is_cut_into_tasks_that_keep_every_core_busy():
    fragile = Fragile()
    done = [*spread.each(fragile, fragile, double, {str(n): n for n in range(1000)})]
    assert [each.result for each in done] == [2 * n for n in range(1000)]
    # Eight tasks a core and job; results arrive after each job.
    assert fragile.jobs == [[16] * 32, [16] * 30 + [8]]


@pytest.mark.parametrize(
    ("version", "good"), [("1.8.0_422", False), ("16.0.2", False), ("17.0.15", True), ("21", True)]
)
def test_java_is_17_or_newer(tmp_path, version, good):
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "release").write_text(f'JAVA_VERSION="{version}"\n')
    if good:
        assert find_java({"JAVA_HOME": str(tmp_path)}).major >= 17
        return
    with pytest.raises(UsageError, match=f"is Java {version}, Spark needs 17 or newer"):
        find_java({"JAVA_HOME": str(tmp_path)})


class CollectingJava:
    """A context whose Java spends this share of its time on garbage, by two collectors."""

    def __init__(self, share):
        self._share, self._began = share, time.monotonic()

    def __getattr__(self, _name):
        return self

    def getConf(self):  # noqa: N802 - as Spark calls it
        return {}

    def getGarbageCollectorMXBeans(self):  # noqa: N802 - as Java calls it
        return [self, self]

    def getCollectionTime(self):  # noqa: N802 - as Java calls it
        return 500 * self._share * (time.monotonic() - self._began)


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_java_that_does_nothing_but_collect_garbage_is_ended(share, monkeypatch):
    monkeypatch.setattr(heart, "STILL_FOR", 0.4)
    with subprocess.Popen(["sleep", "60"]) as java:
        watching = heart.Heart(CollectingJava(share), java)
        found, end = None, time.monotonic() + 1.2
        while found is None and time.monotonic() < end:
            time.sleep(0.02)
            try:
                watching.watch()
            except KfixError as error:
                found = error
        if share == 0.5:
            assert (found, java.poll()) == (None, None)
            java.kill()
        else:
            assert java.wait(seconds(5)) < 0
            assert str(found).endswith("has done nothing but collect garbage for 0 s; its heap is 1g")
            assert "spark.driver.memory" in found.hint
