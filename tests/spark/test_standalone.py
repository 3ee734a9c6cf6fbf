"""A cluster of a master and two workers: our code travels as a zip, and the loss of a worker changes no finding."""

import subprocess
import sys
import time
from functools import partial
from threading import Thread

import pytest

from kfix.fleet.engines import opening as wiring
from kfix.fleet.judging.case import judge_stored
from tests.places import ROOT
from tests.spark.standalone import Standalone
from tests.spark.working import slowly, whose_code
from tests.unit.fleet.working import sometimes, who
from tests.waiting import seconds

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def engine(standalone, shared, request):
    return shared.of(request, partial(wiring.engine, standalone.url))


def test_the_code_of_the_driver_travels(engine, standalone):
    assert engine.name.endswith(standalone.url)
    [done] = engine.each(whose_code, {"one": 1})
    file, runbooks = done.value()
    assert "kfix-of-driver.zip/kfix/__init__.py" in file
    assert runbooks == sorted(p.name for p in (ROOT / "runbooks").iterdir())


def test_a_killer_is_a_row_although_spark_tries_four_times(engine):
    found = {d.name: d.error for d in engine.each(sometimes, {f"c{i}": i for i in range(10)})}
    assert {n: e for n, e in found.items() if e} == {
        "c3": "three.parquet: is damaged",
        "c5": "internal error: RuntimeError: a bug",
        "c7": "its process died: out of memory, or killed",
    }


def test_both_workers_work(engine):
    assert len({d.value() for d in engine.each(who, {str(i): i for i in range(40)})}) == 2


def test_clusters_are_judged_on_the_workers(engine, run, judged):
    assert {d.name: d.value() for d in engine.each(judge_stored, run.stored())} == judged


def test_sql_over_files(engine, run, asked):
    table = engine.query("SELECT count(*) AS n FROM partitions", asked)
    assert table.to_pylist() == [{"n": sum(run.clusters.values())}]


def test_a_worker_that_dies_in_the_middle_changes_no_finding(engine, standalone, run, judged, tmp_path):
    at_the_kill = []

    def kill():
        while len([*tmp_path.iterdir()]) < 4:
            time.sleep(0.02)
        standalone.kill("worker-0")
        at_the_kill.append(len([*tmp_path.iterdir()]))

    killer = Thread(target=kill, daemon=True)
    killer.start()
    found = {d.name: d for d in engine.each(partial(slowly, began=str(tmp_path)), run.stored())}
    killer.join(seconds(30))
    assert 4 <= at_the_kill[0] < len(judged)
    assert [*found] == [*judged]
    assert {n: (d.result, d.error) for n, d in found.items()} == {n: (d, "") for n, d in judged.items()}


def test_a_master_without_workers_is_one_line(tmp_path):
    with Standalone(tmp_path, workers=0) as empty:
        script = (
            "import sys\nfrom kfix.fleet.engines import opening as wiring\nfrom kfix.core.errors import KfixError\n"
            "from tests.unit.fleet.working import double\n"
            "try:\n    with wiring.engine(sys.argv[1]) as e:\n        e._cluster._patience = 3\n"
            "        print(list(e.each(double, {'a': 1})))\n"
            "except KfixError as error:\n    print(type(error).__name__, error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, empty.url], capture_output=True, text=True, check=True, timeout=seconds(120)
        )
    assert done.stdout == f"UnreachableError {empty.url}: no worker accepted the work within 3 s\n"
    assert done.stderr == ""
