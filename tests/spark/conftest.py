"""Spark for all tests of this folder: local[2], a standalone cluster, a Connect server; no test is skipped."""

import gc
import os
import sys
from contextlib import ExitStack, closing
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from kfix.diagnose.snapshots import load_snapshot
from kfix.fleet.demo.synthetic import fleet, stored_of
from kfix.fleet.engines import opening as wiring
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter, write_cluster
from tests.places import ROOT
from tests.spark.standalone import ConnectServer, Standalone
from tests.tries import again
from tests.unit.diagnostics.all_cases import kraft_selection

EXAMPLES = ROOT / "examples" / "snapshots"


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
            # Spark is processes that wait for each other on a machine that others use too: one more try.
            item.add_marker(pytest.mark.flaky(reruns=1))
            # py4j closes its sockets when they are collected: here, and not in somebody else's test.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def _collected():
    yield
    gc.collect()


@pytest.fixture(scope="session")
def snapshots():
    """{cluster: snapshot}: the examples, which are of ZooKeeper, and a sick and a well case of each code on KRaft."""
    examples = {file.name.removesuffix(".json.gz"): load_snapshot(file) for file in EXAMPLES.glob("*.json.gz")}
    return {**examples, **kraft_selection()}


@pytest.fixture(scope="session")
def run(tmp_path_factory, snapshots):
    """A run of the store: synthetic clusters, sick ones among them, and snapshots as they were saved (`snapshots`)."""
    root = tmp_path_factory.mktemp("fleet store")
    writer = RunWriter(place_of(root), date(2026, 1, 1), "r")
    for cluster in fleet(18, 300, sick=0.02, dead_every=4):
        write_cluster(writer.place, cluster.name, *stored_of(cluster))
    for name, snapshot in snapshots.items():
        writer.write(name, snapshot)
    return writer.finish()


@pytest.fixture(scope="session")
def asked(run):
    """The tables of that store, as a query is given them."""
    return tables(run.root, days=30)


@pytest.fixture(scope="session")
def judged(run):
    """{cluster: diagnosis}, by the embedded engine."""
    done = EmbeddedEngine(1).each(judge_stored, run.stored())
    return {d.name: d.value() for d in done}


class Shared:
    """What the tests of a file share. There is one Spark a process: the next file starts its own."""

    def __init__(self):
        self._opened, self._made = ExitStack(), {}

    def of(self, request, make):
        if request.fixturename not in self._made:
            self._made[request.fixturename] = self._opened.enter_context(make())
        return self._made[request.fixturename]

    def close(self):
        self._made.clear()
        self._opened.close()


@pytest.fixture(scope="module")
def shared():
    with closing(Shared()) as one:
        yield one


@pytest.fixture(autouse=True)
def _new_for_a_second_try(shared, request):
    if again(request):
        shared.close()


@pytest.fixture
def local(shared, request):
    return shared.of(request, partial(wiring.engine, "local[2]"))


@pytest.fixture(params=["true", "false"], ids=["ansi", "no ansi"])
def spark(request, local):
    with wiring.engine("local[2]", settings={"spark.sql.ansi.enabled": request.param}) as engine:
        yield engine


@pytest.fixture
def standalone(shared, request, tmp_path_factory):
    return shared.of(request, lambda: Standalone(tmp_path_factory.mktemp("standalone"), workers=2))


@pytest.fixture
def connect(shared, request, tmp_path_factory):
    return shared.of(request, lambda: ConnectServer(tmp_path_factory.mktemp("connect")))


@pytest.fixture(autouse=True, scope="session")
def _workers_are_this_python():
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    yield
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before
