"""One real cluster for all tests of this folder; each test finds it whole and leaves what it broke to `mend`."""

import copy
import json
import os
import shlex
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.lab import INCIDENTS, Lab, LabSpec
from kfix.lab.healing.health import trouble
from tests.cluster.guard import labs_below
from tests.tries import again
from tests.waiting import seconds, wait_until

KFIX = str(Path(sys.executable).with_name("kfix"))


#: Tests wait for sessions to expire more than they compute: three clusters side by side fill two cores. Those of
#: `kraft`, `matrix` and `own` have labs of their own.
SIDES = {
    "one": {
        "test_contexts",
        "test_dying_replicas",
        "test_faults",
        "test_incidents",
        "test_killed_runs",
        "test_remedies_isr",
        "test_watch",
    },
    "kraft": {
        "test_kraft_diagnose",
        "test_kraft_lab",
        "test_kraft_rolling",
    },
    "kraft-healing": {
        "test_kraft_coordinators",
        "test_kraft_dying",
        "test_kraft_groups",
        "test_kraft_quorum",
        "test_kraft_remedies",
    },
    "matrix": {"test_matrix"},
    "own": {
        "test_crash_image",
        "test_kerberos",
        "test_migration",
        "test_missing_rights",
        "test_secured_labs",
        "test_secured_zookeeper",
        "test_zookeeper_faults",
    },
    "three": {
        "test_group_incidents",
        "test_inspect_log_dir",
        "test_records_lost",
        "test_remedies_groups",
        "test_replica_lag",
        "test_report_incident",
    },
}


def only_on(applies):
    """A test of labs that differ: with those labs only whose parameter, which `applies` gets, it is about."""

    def marked(test):
        test.applies = applies
        return test

    return marked


@pytest.hookimpl(tryfirst=True)  # before the suite chooses among the copies of a test
def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    items[:] = [
        item for item in items if not hasattr(item.obj, "applies") or item.obj.applies(item.callspec.params["own"])
    ]
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            # Real brokers on a machine that others use too: one more try, told as R, on a cluster that was mended.
            item.add_marker(pytest.mark.flaky(reruns=1))
            if item.get_closest_marker("xdist_group") is not None:
                continue
            side = next((side for side, files in SIDES.items() if item.path.stem in files), "two")
            item.add_marker(pytest.mark.xdist_group(f"cluster-{side}"))


@dataclass(frozen=True)
class Said:
    """What one command of kfix printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def waited(self):
        """Seconds that kfix has read for; a start of Python on a busy machine is none of them."""
        return self.json["looked_at"]["milliseconds"] / 1000

    @property
    def every(self):
        """All findings, heads and folded ones."""
        found, waiting = [], list(self.json["findings"])
        while waiting:
            finding = waiting.pop(0)
            found.append(finding)
            waiting += finding["folded"]
        return found

    @property
    def findings(self):
        """{code: the first finding of that code}."""
        return {finding["code"]: finding for finding in reversed(self.every)}


def _said_here(words, env, timeout, stdin):
    """Runs the command in this process."""
    from kfix.shell.app import app

    done = CliRunner().invoke(app, words, input=stdin, env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


class Kfix:
    """The installed command, run as an operator would, with a state folder of the test's own."""

    def __init__(self, lab, home):
        self.lab = lab
        self.home = home

    def run(self, *args, timeout=60, stdin=""):
        env = {"KFIX_STATE_HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "120"}
        said = self._said([*map(str, args)], env, seconds(timeout), stdin)
        assert "Traceback" not in said.err + said.out, said.err + said.out
        return said

    def paste(self, command, *more, **options):
        """As it is printed, without a terminal; `more` at its end."""
        program, *words = shlex.split(command)
        assert program == "kfix", command
        return self.run(*words, *more, **options)

    def _said(self, words, env, timeout, stdin):
        done = subprocess.run(
            [KFIX, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env=os.environ | env,
            input=stdin,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    @property
    def here(self):
        """The same, run in this process: a question that is asked again and again starts no Python each time."""
        found = copy.copy(self)
        found._said = _said_here
        return found

    def until(self, holds, what, *args, within=30, ask=None):
        """Returns what `kfix diagnose` says once `holds` is true of it: this process asks, and then the command.

        `ask` calls another command of the `Kfix` that it is given.
        """
        ask, last = ask or (lambda kfix: kfix.diagnose(*args)), []

        def reported():
            for kfix in (self.here, self):
                last[:] = [ask(kfix)]
                if not holds(last[0]):
                    return None
            return last[0]

        return wait_until(reported, lambda: f"{what}: {last[0].out}{last[0].err}", within, pause=0.3)

    def on(self, *args, **options):
        """With the cluster's address."""
        return self.run(*args, "--bootstrap-server", self.lab.bootstrap_servers, **options)

    def diagnose(self, *args, **options):
        return self.on("diagnose", "--json", "--debounce", "3", "--restart-grace", "0", *args, **options)


@pytest.fixture(scope="session", autouse=True)
def no_lab_is_left(tmp_path_factory):
    with labs_below(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory):
    os.environ["KFIX_LAB_HOME"] = str(tmp_path_factory.mktemp("labs"))
    lab = WatchedLab.up(LabSpec(name="tests", racks=("a", "b", "c")))
    yield lab
    lab.down()


class OwnLab:
    """The lab of one file of tests, which `start` starts. The second try of a test gets a new one."""

    def __init__(self, start):
        self._start = start
        self.lab = None

    def of(self, request):
        if again(request):
            self.down()
        if self.lab is None:
            self.lab = self._start()
        return self.lab

    def down(self):
        if self.lab is not None:
            lab, self.lab = self.lab, None
            lab.down()


@contextmanager
def own_lab(tmp_path_factory, start):
    """Yields an `OwnLab` in a folder of its own, for a fixture of a module; the lab of a test is its `of(request)`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        own = OwnLab(start)
        try:
            yield own
        finally:
            own.down()


def lab_of_its_own(start, *, mends=False, **parameters):
    """Returns the fixtures `own` and `lab` of a file whose tests share a lab that `start` starts.

    `start` gets the parameter, if there are `parameters` of the fixture. With `mends` each test finds the lab whole.
    """

    @pytest.fixture(scope="module", **parameters)
    def own(request, tmp_path_factory):
        given = [request.param] if hasattr(request, "param") else []
        with own_lab(tmp_path_factory, partial(start, *given)) as one:
            yield one

    @pytest.fixture
    def lab(own, request):
        found = own.of(request)
        yield found
        if mends and not is_whole(found):
            found.mend()

    return own, lab


def is_whole(lab):
    status = lab.status()
    return status.incident is None and all(each.condition == "alive" for each in status.processes)


#: Incidents that touch no partition.
UNTOUCHED = {"healthy", "ghost-registration", "metadata-version-behind", "migration-stuck", "wrong-cluster-id"}


def comes_out(lab, broken):
    """Asserts that an incident says what it did, and names the brokers that are dead."""
    assert broken.did
    assert broken.expect
    dead = {each.id for each in lab.status().processes if each.role == "broker" and each.condition == "dead"}
    assert dead <= set(broken.dead)
    # Of a quorum's controllers no partition is touched.
    assert broken.partitions or broken.incident in UNTOUCHED or INCIDENTS[broken.incident].own_controllers
    return broken


class WatchedLab(Lab):
    """A lab whose incidents come out as they say, in every test."""

    def break_(self, incident, **options):
        return comes_out(self, super().break_(incident, **options))


def mended(lab):
    """Mends the cluster, which must then be as if nothing had happened to it."""
    lab.mend()
    assert lab.status().incident is None
    with lab.access() as access:
        assert trouble(access, lab.broker_ids) == ()
        assert access.topics() == ("__consumer_offsets",)
        assert access.configs("brokers") == {}
        assert "min.insync.replicas" not in access.configs("topics")["__consumer_offsets"]


@pytest.fixture
def lab(shared_lab, request):
    """The shared cluster, whole: what the test before left broken is mended first."""
    if again(request) or not is_whole(shared_lab):
        shared_lab.mend()
    yield shared_lab
    if shared_lab.status().incident is not None:
        mended(shared_lab)


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Labs of the matrix, one at a time, for a file of tests."""
    from tests.matrix.cell import Labs

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("matrix")))
        labs = Labs()
        yield labs
        labs.down()


@pytest.fixture(scope="session")
def zones(tmp_path_factory):
    """A cluster whose brokers and ZooKeepers stand in three network namespaces."""
    from tests.cluster.cutting import nothing_left

    os.environ.setdefault("KFIX_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
    lab = Lab.up(LabSpec(name="cut", zones=3, zookeepers=3))
    network = lab.state.network
    yield lab
    lab.down()
    nothing_left(network)


@pytest.fixture
def zoned(zones, request):
    if again(request):
        zones.mend()
    yield zones
    if zones.status().incident is not None or zones.status().network:
        zones.mend()


@pytest.fixture
def kfix_of_zones(zoned, tmp_path):
    return Kfix(zoned, tmp_path / "state")


@pytest.fixture
def kfix(lab, tmp_path):
    return Kfix(lab, tmp_path / "state")


@pytest.fixture
def operator(lab, tmp_path):
    """Plans and applies without a terminal; what it ran is compared with its plans at the end of every test."""
    from tests.cluster.remedy import operating

    with operating(lab, tmp_path) as one:
        yield one


@pytest.fixture
def cluster(lab):
    from tests.cluster.seen import Cluster

    with lab.access() as access:
        yield Cluster(lab, access)
