"""The tables of a store in a catalog that outlives the session: another session finds them by name."""

import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from kfix.core.errors import UsageError
from kfix.fleet.audits import AuditRunOptions, EngineOptions, run_audit
from kfix.fleet.engines import opening as wiring
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.tables import created_tables, tables
from kfix.fleet.store.places import place_of
from kfix.fleet.store.tables import ALL
from tests.places import ROOT
from tests.spark.jars import jars_of
from tests.unit.fleet.audit_runs import audited, cluster
from tests.waiting import seconds

pytestmark = pytest.mark.timeout(600)


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
        # For a few files: by the defaults, 50 and 200 tasks read each log.
        "spark.databricks.delta.snapshotPartitions": 1,
        "spark.sql.shuffle.partitions": 1,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'db'};create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={folder / 'derby.log'}",
    }


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


def seen_by_another_session(settings, folder):
    given = json.dumps({name: str(value) for name, value in settings.items()})
    done = subprocess.run(
        [sys.executable, "-c", OTHER, given],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds(400),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_an_audit_registers_the_tables_and_another_session_reads_them(settings, tmp_path):
    root, other = tmp_path / "a store+é", tmp_path / "other"
    audited(root, [cluster("a", sick=0.02), cluster("b", dead=1)], EmbeddedEngine(1))
    audited(other, [cluster("c")], EmbeddedEngine(1))
    shutil.rmtree(root / "tables" / "scenarios")  # The audit creates it again.
    with wiring.engine("local[2]", settings={name: str(value) for name, value in settings.items()}) as engine:
        on = EngineOptions("local[2]", catalog="kafka")
        run_audit(str(root), None, on, AuditRunOptions("no"), Quiet(), days=30)
        # Another store must not hide behind the same names.
        said = f"kafka.partitions is another table, at file:{root}"
        with pytest.raises(UsageError, match=re.escape(said)):
            engine.register("kafka", str(other), {"partitions": f"{other}/tables/partitions"})
    found = seen_by_another_session(settings, tmp_path)
    assert found.keys() == created_tables(place_of(root)).keys() == {spec.name for spec in ALL}
    shown = tables(place_of(root), days=30)
    assert found == {name: rows.rows for name, rows in shown.items()}
    assert found["audits"] == 1


class Quiet:
    quiet = True

    @contextmanager
    def progress(self, total, what):
        yield lambda name, error: None


def test_without_a_connector_it_is_one_line_before_any_work(local, tmp_path):
    before = place_of(tmp_path / "store")
    with pytest.raises(UsageError, match="Spark has no connector for Delta"):
        local.register("kafka", str(before), {})
    with pytest.raises(UsageError, match="'a b' is not a schema"):
        local.register("a b", str(before), {})
    with pytest.raises(UsageError, match="needs Spark"):
        EmbeddedEngine(1).register("kafka", str(before), {})
    done = subprocess.run(
        [sys.executable, "-m", "kfix", "audit", "--store", str(tmp_path), "--collect", "no", "--catalog", "kafka"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "kfix: --catalog needs --spark MASTER: the catalog is Spark's",
    )
