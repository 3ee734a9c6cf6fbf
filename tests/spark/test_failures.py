"""What goes wrong is a row or one line: in a task, in a statement, with Java, with the master."""

import re
import shutil
import socket
import subprocess
import sys
import textwrap
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.fleet.engines import opening as wiring
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store.delta import TableFile
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import read_run
from kfix.fleet.store.stored import StoredRows
from kfix_spark.java import find_java
from tests.spark.working import unpicklable
from tests.unit.fleet.engines.test_embedded import SCHEMA
from tests.unit.fleet.working import slow_first, sometimes
from tests.waiting import seconds

NUMBERS = {"numbers": pa.table({"a": [1, 2, 3]})}


def items(n):
    return {f"c{i}": i for i in range(n)}


def test_one_that_fails_or_kills_its_process_is_a_row_and_stops_no_other(local):
    found = {d.name: d for d in local.each(sometimes, items(20))}
    assert [*found] == [f"c{i}" for i in range(20)]
    assert {n: d.error for n, d in found.items() if d.error} == {
        "c3": "three.parquet: is damaged",
        "c5": "internal error: RuntimeError: a bug",
        "c7": "its process died: out of memory, or killed",
    }
    assert all(d.result == int(n[1:]) for n, d in found.items() if not d.error)


def test_a_damaged_file_is_a_row_that_names_it(local, run, judged, tmp_path):
    root = place_of(shutil.copytree(run.root.path, tmp_path / "store"))
    stored = dict([*read_run(root, run.day, run.id).stored().items()][:6])
    hurt = [*stored][2]
    file = Path(stored[hurt].partitions)
    assert tmp_path in file.parents
    file.write_bytes(file.read_bytes()[:-100])
    found = {d.name: d for d in local.each(judge_stored, stored)}
    assert f"{file}: is damaged" in found[hurt].error
    assert {n: d.result for n, d in found.items() if n != hurt} == {n: judged[n] for n in stored if n != hurt}


def test_a_result_that_cannot_travel_is_a_row(local):
    errors = {d.name: d.error for d in local.each(unpicklable, items(3))}
    assert [bool(e) for e in errors.values()] == [False, True, False]
    assert "cannot pickle its result" in errors["c1"]


def test_results_come_in_order_and_whoever_stops_listening_stops_the_work(local):
    assert [d.result for d in local.each(slow_first, items(60))] == [*range(60)]
    assert list(local.each(slow_first, {})) == []
    running = local.each(slow_first, items(400))
    assert next(running).result == 0
    running.close()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nope FROM numbers", "line 1, column 8: .*`nope` cannot be resolved"),
        ("SELECT a\nFROM numbers ORDER a", "line 2, column 20: Syntax error"),
        ("SELECT * FROM\n  nix", "line 2, column 3: The table or view `nix` cannot be found"),
        ("SELECT * FROM parquet.`/etc/passwd`", "cannot be found"),
        ("SELECT * FROM text.`/etc/passwd`", "cannot be found"),
        ("SELECT assert_true(a > 2) FROM numbers", "query failed"),
    ],
)
def test_a_wrong_statement_is_one_line(local, capfd, sql, said):
    with pytest.raises(UsageError, match=said) as raised:
        local.query(sql, NUMBERS)
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


def test_rows_that_are_none(local, tmp_path):
    nothing = local.query("SELECT * FROM t", {"t": StoredRows(SCHEMA, place_of(tmp_path / "nowhere"), ())})
    assert (nothing.num_rows, nothing.schema.names) == (0, SCHEMA.names)
    (tmp_path / "bad.parquet").write_text("nope")

    def rows(name):
        place = place_of(tmp_path)
        return StoredRows(SCHEMA, place, (TableFile(place / name, date(2026, 3, 1), "r", 1, 4, None),))

    for name, given, said in (
        ("t", rows("gone.parquet"), "gone.parquet"),
        ("t", rows("bad.parquet"), "bad.parquet"),
        ("a b", NUMBERS["numbers"], "not a valid table name"),
    ):
        with pytest.raises(KfixError, match=said) as raised:
            local.query("SELECT * FROM t", {name: given})
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("master", "said"),
    [
        ("nope", "not a Spark master"),
        ("local[0]", "not a Spark master"),
        ("spark://127.0.0.1", "not HOST:PORT"),
        ("yarn", "HADOOP_CONF_DIR"),
        ("submit", "spark-submit"),
    ],
)
def test_a_master_that_is_none(monkeypatch, master, said):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with pytest.raises(UsageError, match=said), wiring.engine(master):
        pass


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_master_that_does_not_answer(scheme):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        master = f"{scheme}://127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(UnreachableError, match="no answer"), wiring.engine(master):
            pass


def test_a_wrong_java_is_one_line(tmp_path):
    old = tmp_path / "old"
    (old / "bin").mkdir(parents=True)
    (old / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    (old / "bin" / "java").chmod(0o755)
    silent = shutil.copytree(old, tmp_path / "silent")
    (old / "release").write_text('JAVA_VERSION="11.0.2"\n')
    for env, said in (
        ({"PATH": str(tmp_path)}, "needs Java, which is not installed"),
        ({"JAVA_HOME": str(tmp_path / "gone")}, "there is no bin/java"),
        ({"JAVA_HOME": str(old)}, "is Java 11.0.2, Spark needs 17"),
        ({"JAVA_HOME": str(silent), "PATH": "/usr/bin:/bin"}, "is Java 1.8.0_402, Spark needs 17"),
    ):
        with pytest.raises(UsageError, match=re.escape(said)) as raised:
            find_java(env)
        assert "embedded engine needs no Java" in raised.value.hint
    assert find_java().major >= 17


def test_pyspark_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UsageError, match="needs pyspark") as raised, wiring.engine("local[2]"):
        pass
    assert "pip install 'kafka-kfix[spark]'" in raised.value.hint
    with pytest.raises(UsageError, match="--processes"), wiring.engine("local[2]", processes=2):
        pass


@pytest.mark.parametrize("setting", ["spark.driver.memory=lots", "spark.driver.extraJavaOptions=-agentlib:nosuch"])
def test_a_java_that_does_not_start_is_one_line(tmp_path, setting):
    script = tmp_path / "start.py"
    script.write_text(
        textwrap.dedent(f"""
        from kfix.fleet.engines import opening as wiring
        from kfix.core.errors import KfixError
        try:
            with wiring.engine("local[1]", settings=dict([{setting!r}.split("=", 1)])):
                print("started")
        except KfixError as error:
            print(type(error).__name__, error)
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=seconds(120))
    assert done.stderr == ""
    assert done.stdout.startswith("UsageError Spark did not start: ")
    assert done.stdout.count("\n") == 1
