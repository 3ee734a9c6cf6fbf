"""An audit on YARN and HDFS with the wheel alone: `make test-hadoop` runs this file; it is not part of `make test`."""

import json
import os
import subprocess
import sys

import pytest

from tests.places import ROOT
from tests.spark.hadoop import Hadoop
from tests.spark.standalone import HOME
from tests.waiting import seconds

pytestmark = pytest.mark.timeout(900)
KFIX = (sys.executable, "-m", "kfix")
FLEET = ("--clusters", "3", "--partitions", "200", "--days", "1", "--processes", "1")
#: Small executors on loopback, which take Spark's jars from where the driver has them.
ON_YARN = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.instances": 2,
    "spark.executor.memory": "600m",
    "spark.yarn.am.memory": "512m",
    "spark.yarn.jars": f"local:{HOME}/jars/*",
}
BY_CLUSTER = "SELECT cluster, count(*) AS n FROM partitions GROUP BY cluster ORDER BY cluster"


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory):
    with Hadoop(tmp_path_factory.mktemp("hadoop")) as one:
        yield one


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A folder with what the wheel installs, and nothing else of this checkout."""
    made, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", made, ROOT], check=True)
    [file] = made.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder, file], check=True)
    return folder


@pytest.fixture(scope="module")
def kfix(hadoop, wheel, tmp_path_factory):
    """Runs a command in an empty folder, with the wheel on the path and nothing of this checkout."""
    empty, state = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("state")

    def run(*args, command=KFIX, **env):
        more = {"KFIX_STATE_HOME": str(state), "NO_COLOR": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
        more |= {"PYTHONPATH": str(wheel), "PYSPARK_PYTHON": sys.executable}
        given = os.environ | hadoop.env | more | env
        given.pop("KFIX_STORE", None)
        done = subprocess.run(
            [*command, *map(str, args)],
            capture_output=True,
            text=True,
            check=False,
            env=given,
            cwd=empty,
            timeout=seconds(600),
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    return run


@pytest.fixture(scope="module")
def store(kfix, hadoop):
    place = f"{hadoop.hdfs}/fleet/store"
    kfix("fleet", "demo", "--store", place, *FLEET)
    return place


def shown(kfix, store):
    said = json.loads(kfix("audit", "show", "--store", store, "--json", "--fail-on", "never"))
    assert len(said["findings"]) > 3
    return said["engine"].rpartition(" ")[2], said["findings"]


def given(store):
    return ("--store", store, "--collect", "no", "--fail-on", "never", "-q")


def test_an_audit_on_yarn(kfix, store):
    _, before = shown(kfix, store)
    conf = [word for name, value in ON_YARN.items() for word in ("--spark-conf", f"{name}={value}")]
    kfix("audit", *given(store), "--spark", "yarn", *conf)
    assert shown(kfix, store) == ("yarn", before)


def test_spark_submit_on_yarn(kfix, store):
    _, before = shown(kfix, store)
    options = " ".join(f"--conf {name}={value}" for name, value in ON_YARN.items())
    env = {"MASTER": "yarn", "PYTHON": sys.executable, "SUBMIT_OPTIONS": options}
    env["SPARK_SUBMIT"] = str(HOME / "bin" / "spark-submit")
    kfix(*given(store), command=[str(ROOT / "examples" / "spark-submit.sh")], **env)
    assert shown(kfix, store) == ("yarn", before)
