"""What a session leaves and loads: an archive of classes that breaks no start, a zip of our code, no Spark unasked."""

import os
import subprocess
import sys
import zipfile

import pytest

from kfix.core.errors import UsageError
from kfix_spark import session
from kfix_spark.archive import archive_for
from kfix_spark.java import find_java
from kfix_spark.package import make_package
from tests.places import ROOT
from tests.spark.standalone import HOME
from tests.waiting import seconds

START = (
    "import sys\nfrom kfix.fleet.engines import opening as wiring\n"
    "with wiring.engine('local[1]') as e:\n    print(e.query('SELECT 1 AS n', {}).to_pylist())\n"
    "    print([d.result for d in e.each(abs, {'a': -1, 'b': 2})])\n"
)


def start(**env):
    done = subprocess.run(
        [sys.executable, "-c", START],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds(120),
        env=os.environ | env,
    )
    assert [*ROOT.glob("hs_err*")] == []
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[{'n': 1}]\n[1, 2]\n"


#: Kills Java while it works on a statement.
KILLED = """
import os, signal, threading
from kfix.fleet.engines import opening as wiring
from kfix.core.errors import KfixError
with wiring.engine('local[1]') as e:
    java = e._session.sparkContext._gateway.proc.pid
    threading.Timer(2, os.kill, (java, signal.SIGKILL)).start()
    try:
        e.query('SELECT sum(id % 7) FROM range(100000000000)', {})
    except KfixError as error:
        print(error)
"""


def test_java_that_ends_during_a_statement_is_one_line():
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False, timeout=seconds(120)
    )
    assert done.stdout == "the work on Spark was lost: Spark's Java process has ended: out of memory, or killed\n"


#: A statement that needs more memory than there is, and one during which Java stops.
WITHOUT_HEAP = """
from kfix.fleet.engines import opening as wiring
from kfix.core.errors import KfixError
with wiring.engine('local[1]', settings={'spark.driver.memory': '512m'}) as e:
    try:
        e.query('SELECT size(sequence(1, id)) FROM range(300000000, 300000001)', {})
    except KfixError as error:
        print(error, error.hint, sep='; ')
"""
STOPPED = KILLED.replace("signal.SIGKILL", "signal.SIGSTOP").replace(
    "with wiring", "from kfix_spark import heart\nheart.STILL_FOR = 5.0\nwith wiring"
)
#: An answer that is larger than the driver takes from its executors.
TOO_LARGE = WITHOUT_HEAP.replace("'spark.driver.memory': '512m'", "'spark.driver.maxResultSize': '64k'").replace(
    "SELECT size(sequence(1, id)) FROM range(300000000, 300000001)", "SELECT id FROM range(1000000)"
)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            WITHOUT_HEAP,
            "Spark's Java process has no memory left and has ended; its heap is 512m; --spark-conf spark.dr",
        ),
        (STOPPED, "Spark's Java process has not answered for 5 s; its heap is 1g"),
        (TOO_LARGE, "an answer is too large for the driver; --spark-conf spark.driver.maxResultSize="),
    ],
    ids=["without memory", "stopped", "too large"],
)
def test_a_java_that_cannot_go_on_ends_the_work_and_is_named(program, said):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=seconds(120)
    )
    assert done.stdout.startswith(f"the work on Spark was lost: {said}"), done.stderr


#: The session is the caller's, and its Java stands still for longer than kfix waits for its own.
OF_A_CALLER = """
import os, signal, threading
from pyspark.sql import SparkSession
from kfix.fleet.engines import opening as wiring
from kfix_spark import heart
heart.STILL_FOR = 1.0
settings = {'spark.driver.host': '127.0.0.1', 'spark.driver.bindAddress': '127.0.0.1', 'spark.ui.enabled': 'false'}
session = SparkSession.builder.master('local[1]').config(map=settings).getOrCreate()
java = session.sparkContext._gateway.proc.pid
with wiring.engine('local[1]') as e:
    threading.Timer(1, os.kill, (java, signal.SIGSTOP)).start()
    threading.Timer(8, os.kill, (java, signal.SIGCONT)).start()
    print(e.query('SELECT sum(id % 7) AS n FROM range(1000000000)', {}).to_pylist())
"""


def test_java_of_a_caller_is_never_ended():
    command = [sys.executable, "-c", OF_A_CALLER]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds(120))
    assert done.stdout == "[{'n': 2999999997}]\n", done.stderr


def test_an_archive_is_made_once_taken_then_and_never_in_the_way(tmp_path):
    cache = tmp_path / "cache"
    start(XDG_CACHE_HOME=str(cache))
    [made] = (cache / "kfix").iterdir()
    assert made.suffix == ".jsa"
    assert made.stat().st_size > 10_000_000
    env = {"XDG_CACHE_HOME": str(cache)}
    assert f"-XX:SharedArchiveFile={made}" in archive_for(find_java(), HOME, env).options
    # Java crashes on one whose beginning is right.
    short = made.with_name(f"{made.stem.rpartition('-')[0]}-12288.jsa")
    with made.open("rb") as file:
        short.write_bytes(file.read(4096) + b"\0" * 8192)
    made.unlink()
    assert f"={short}" in archive_for(find_java(), HOME, env).options
    start(**env)
    assert not short.exists()
    made.write_bytes(b"cut short")
    assert "ArchiveClassesAtExit" in archive_for(find_java(), HOME, env).options
    assert not made.exists()
    made.with_name(f"{made.stem.rpartition('-')[0]}-0.jsa").touch()
    assert archive_for(find_java(), HOME, env).options == ""


def test_where_there_is_no_place_for_an_archive_there_is_none(tmp_path):
    java = find_java()
    (tmp_path / "file").write_text("")
    open_to_all = tmp_path / "open" / "kfix"
    open_to_all.mkdir(parents=True)
    open_to_all.chmod(0o777)
    for env in (
        {"KFIX_SPARK_ARCHIVE": "0"},
        {"XDG_CACHE_HOME": str(tmp_path / "file")},
        {"XDG_CACHE_HOME": str(tmp_path / "a b")},
        {"XDG_CACHE_HOME": "relative"},
        {"XDG_CACHE_HOME": str(tmp_path / "open")},
    ):
        assert archive_for(java, HOME, env).options == "", env


def test_the_zip_holds_all_of_our_code_and_runs_by_itself(tmp_path):
    path = make_package(tmp_path / "kfix.zip")
    with zipfile.ZipFile(path) as made:
        names = set(made.namelist())
    assert {"kfix/__main__.py", "kfix_diagnostics/engine.py", "kfix_spark/spread.py"} <= names
    assert len([n for n in names if n.startswith("kfix/_runbooks/")]) == len([*(ROOT / "runbooks").iterdir()])
    assert not [n for n in names if "__pycache__" in n]
    raw = path.read_bytes()
    assert make_package(path).read_bytes() == raw
    script = "import kfix.api, kfix_spark.spread; print(kfix.api.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(path))
    with pytest.raises(UsageError, match="cannot be written"):
        make_package(tmp_path / "gone" / "kfix.zip")


@pytest.mark.parametrize("command", [["--help"], ["diagnose", "--help"], ["--version"]])
def test_commands_without_spark_load_none_of_it(command):
    script = (
        f"import sys\nsys.argv = ['kfix', *{command!r}]\nfrom kfix.shell.app import app\n"
        "try:\n    app()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('pyspark', 'py4j', 'kfix_spark', 'pandas', 'pyarrow', 'duckdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("master", "ours"), [("local[2]", "false"), ("spark://h:7077", None), ("yarn", None)])
def test_the_web_page_is_off_on_this_machine_only(master, ours):
    """On a real cluster the web page and the event log are settings of the cluster."""
    assert session._conf(master, {}, "").get("spark.ui.enabled") == ours
    assert session._conf(master, {"spark.ui.enabled": "true"}, "").get("spark.ui.enabled") == "true"
