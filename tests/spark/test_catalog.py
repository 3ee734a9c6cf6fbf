"""The tables of a store in a catalog that outlives the session: another session finds them by name."""

import os
import subprocess
import sys

import pytest

from kfix.adapters.fleet.places import place_of
from kfix.app import fleet as wiring
from kfix.errors import UsageError
from kfix.fleet.audit.tables import created_tables
from kfix.fleet.embedded import EmbeddedEngine
from tests.places import ROOT
from tests.spark.jars import jars_of
from tests.unit.fleet.audit_runs import audited, cluster

pytestmark = pytest.mark.timeout(280)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Spark's settings for Delta's connector and for Hive's metastore in a folder (Derby)."""
    folder = tmp_path_factory.mktemp("metastore")
    jars = [jar for jar in jars_of("delta.xml") if "/io/delta/" in jar or "/io/unitycatalog/" in jar]
    return {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'db'};create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={folder / 'derby.log'}",
    }


def kfix(tmp_path, *args, code=0):
    env = os.environ | {"KFIX_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-m", "kfix", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        cwd=ROOT,
        timeout=200,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    return done


#: A session without kfix: the tables by name.
OTHER = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
names = [row.tableName for row in session.sql("SHOW TABLES IN kafka").collect()]
print(json.dumps({name: session.table(f"kafka.{name}").count() for name in names}))
"""


def seen_by_another_session(settings):
    import json

    given = json.dumps({name: str(value) for name, value in settings.items()})
    done = subprocess.run([sys.executable, "-c", OTHER, given], capture_output=True, text=True, check=True, timeout=200)
    return json.loads(done.stdout)


def test_an_audit_registers_the_tables_and_another_session_reads_them(settings, tmp_path):
    root = tmp_path / "a store"
    audited(root, [cluster("a", sick=0.02), cluster("b", dead=1)], EmbeddedEngine(1))
    conf = [word for name, value in settings.items() for word in ("--spark-conf", f"{name}={value}")]
    given = ("--collect", "no", "--fail-on", "never", "-q", "--spark", "local[2]", "--catalog", "kafka", *conf)
    for _ in range(2):
        kfix(tmp_path, "audit", "--store", root, *given)
    found = seen_by_another_session(settings)
    names = created_tables(place_of(root))
    assert found.keys() == names.keys()
    assert {"snapshots", "partitions", "findings", "audits"} <= found.keys()
    for name in ("partitions", "findings", "runs", "audits"):
        said = kfix(tmp_path, "audit", "query", f"SELECT count(*) AS n FROM {name}", "--store", root, "--csv").stdout
        assert int(said.split()[1]) == found[name], name
    assert found["audits"] == 1
    # Another store must not hide behind the same names.
    other = tmp_path / "other"
    audited(other, [cluster("c")], EmbeddedEngine(1))
    said = kfix(tmp_path, "audit", "--store", other, *given, code=2).stderr
    assert "is another table, at " in said
    assert "choose another schema" in said


def test_without_a_connector_it_is_one_line_before_any_work(tmp_path):
    root = tmp_path / "store"
    audited(root, [cluster("a")], EmbeddedEngine(1))
    given = ("--collect", "no", "-q", "--spark", "local[1]", "--catalog", "kafka")
    said = kfix(tmp_path, "audit", "--store", root, *given, code=2).stderr
    assert "no connector for Delta" in said
    assert len(said.splitlines()) == 2
    assert "needs --spark" in kfix(tmp_path, "audit", "--store", root, "--catalog", "kafka", code=2).stderr
    with wiring.engine("local[1]") as engine, pytest.raises(UsageError, match="is not a schema"):
        engine.register("a b", str(root), {})
    with pytest.raises(UsageError, match="needs Spark"):
        EmbeddedEngine(1).register("kafka", str(root), {})
