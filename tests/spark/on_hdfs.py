"""A store on HDFS: a real NameNode and DataNode on loopback; written and read with and without Spark.

`make test-hadoop` runs this file in a process of its own, and `make test` does not: threads of hdfs-native stay in the
process, and a fork after that, by which pyspark starts Java for the tests that follow, never returns.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyarrow import fs

from kfix.fleet.store.places import place_of, read_bytes, write_bytes, writing
from kfix.fleet.store.tables import ALL
from tests.places import ROOT
from tests.spark.hadoop import Hadoop
from tests.waiting import seconds

pytestmark = pytest.mark.timeout(600)
KFIX = (sys.executable, "-m", "kfix")
FLEET = ("--clusters", "3", "--partitions", "200", "--days", "1", "--processes", "1")
BY_CLUSTER = "SELECT cluster, count(*) AS n FROM partitions GROUP BY cluster ORDER BY cluster"


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory):
    with Hadoop(tmp_path_factory.mktemp("hadoop"), yarn=False) as one:
        yield one


@pytest.fixture(scope="module")
def kfix(hadoop, tmp_path_factory):
    state = tmp_path_factory.mktemp("state")

    def run(*args, code=0, command=KFIX, cwd=ROOT, **env):
        more = {"KFIX_STATE_HOME": str(state), "NO_COLOR": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
        given = os.environ | hadoop.env | more | env
        given.pop("KFIX_STORE", None)
        done = subprocess.run(
            [*command, *map(str, args)],
            capture_output=True,
            text=True,
            check=False,
            env=given,
            cwd=cwd,
            timeout=seconds(400),
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, done.stdout[-2000:] + done.stderr[-4000:]
        return done

    return run


@pytest.fixture(scope="module")
def stores(kfix, hadoop, tmp_path_factory):
    """The same fleet on HDFS and on the local disk, written and audited by the embedded engine."""
    found = f"{hadoop.hdfs}/fleet/store", tmp_path_factory.mktemp("local") / "store"
    for store in found:
        kfix(
            "fleet",
            "demo",
            "--store",
            store,
            *["--clusters", "6", "--partitions", "300", "--days", "3", "--processes", "2"],
        )
    return found


def shown(kfix, store):
    said = json.loads(kfix("audit", "show", "--store", store, "--json", "--fail-on", "never").stdout)
    return said["findings"], said["trend"], said["offenders"]


def audited(kfix, store, *options, **more):
    given = ("--store", store, "--collect", "no", "--fail-on", "never", "-q", *options)
    kfix(*(() if "command" in more else ("audit",)), *given, **more)


def test_a_store_on_hdfs_is_that_of_a_local_disk(kfix, stores):
    there, here = stores
    assert shown(kfix, there) == shown(kfix, here)
    asked = [kfix("audit", "query", BY_CLUSTER, "--store", store, "--csv").stdout for store in stores]
    assert asked[0] == asked[1]
    for spec in ALL:
        rows = [DeltaTable(f"{store}/tables/{spec.name}").to_pyarrow_table(columns=["day"]) for store in stores]
        assert rows[0].num_rows == rows[1].num_rows, spec.name
    for store in stores:
        kfix("fleet", "compact", "--store", store)
        kfix("fleet", "prune", "--store", store, "--keep", "2d")
    assert shown(kfix, there) == shown(kfix, here)
    assert len(shown(kfix, here)[0]) > 5


def test_spark_reads_and_writes_it(kfix, stores):
    before = shown(kfix, stores[1])
    audited(kfix, stores[0], "--spark", "local[2]", "--sql-on-spark")
    assert shown(kfix, stores[0]) == before


def test_a_file_on_hdfs_is_replaced_as_a_whole(hadoop, monkeypatch):
    for name, value in hadoop.env.items():
        monkeypatch.setenv(name, value)
    place = place_of(f"{hadoop.hdfs}/files") / "a b+%41"
    for raw in (b"first", b"second"):
        write_bytes(place, raw)
        assert read_bytes(place) == raw
    with pytest.raises(ZeroDivisionError):
        _write_and_fail(place)
    assert read_bytes(place) == b"second"
    assert [info.base_name for info in _listed(place)] == ["a b+%41"]


def _write_and_fail(place):
    with writing(place) as out:
        out.write(b"third")
        raise ZeroDivisionError


def _listed(place):
    return place.system.get_file_info(fs.FileSelector(place.parent.path))


def test_what_goes_wrong_is_one_line(kfix, hadoop, tmp_path):
    for place, why, code in (
        (f"{hadoop.hdfs}/nothing", "no audit", 2),
        ("hdfs://127.0.0.1:1/store", "cannot be reached", 22),
        (f"{hadoop.hdfs}/store?replication=1", "has neither options nor a user", 2),
        (f"{hadoop.hdfs.replace('//', '//me@')}/store", "has neither options nor a user", 2),
    ):
        said = kfix("audit", "show", "--store", place, code=code).stderr
        assert why in said, said
        assert len(said.splitlines()) <= 2, said
    without = tmp_path / "hdfs_native"
    without.mkdir()
    Path(without, "__init__.py").write_text("raise ImportError('not here')\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    said = kfix("audit", "show", "--store", f"{hadoop.hdfs}/store", code=2, PYTHONPATH=paths).stderr
    assert "needs hdfs-native" in said
    assert "pip install 'kafka-kfix[fleet,hdfs]'" in said
