"""`kfix audit` and `kfix fleet` at the command line: what goes wrong is one line, before any work."""

import json
import os
import signal
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.staging import RunWriter
from tests.places import ROOT
from tests.unit.diagnostics.clusters import base
from tests.waiting import seconds, wait_until

#: One worker makes the store of the demo, for all tests.
pytestmark = pytest.mark.xdist_group("demo-store")

KFIX = str(Path(sys.executable).with_name("kfix"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A store with three days, made once; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("demo")
    size = ("--clusters", "5", "--partitions", "300", "--days", "3", "--processes", "1")
    done = _run(folder, "fleet", "demo", "--store", folder / "store", *size)
    assert done.returncode == 0, done.stderr
    return folder / "store"


def _env(home):
    given = {"KFIX_STATE_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "120"}
    return {k: v for k, v in os.environ.items() if k not in {"KFIX_FLEET", "KFIX_STORE"}} | given


def _run(home, *args):
    return subprocess.run(
        [KFIX, *map(str, args)], capture_output=True, text=True, check=False, env=_env(home), timeout=seconds(120)
    )


@pytest.fixture
def kfix(tmp_path):
    def run(*args, code=0):
        done = _run(tmp_path / "state", *args)
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def store(demo, tmp_path):
    subprocess.run(["cp", "-r", demo, tmp_path / "store"], check=True)
    return tmp_path / "store"


def files_of(root):
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "no store is given"),
        (("--store", "STORE"), "no inventory is given"),
        (("--store", "STORE", "--collect", "maybe"), "--collect: 'maybe' is not one of here, spark, no"),
        (("--store", "STORE", "--collect", "spark"), "--collect spark needs --spark MASTER"),
        (("--store", "STORE", "--collect", "no", "--cluster", "x"), "choose what is collected"),
        (("--store", "STORE", "--since", "last"), "--since chooses stored runs: it requires --collect no"),
        (("--store", "STORE", "--collect", "no", "--since", "2026-02-30"), "--since: "),
        (("--store", "STORE", "--collect", "no", "--run", ""), "--run: is empty"),
        (("--store", "STORE", "--collect", "no", "--run", "nope"), "no complete run 'nope'"),
        (("--store", "STORE", "--collect", "no", "--date", "2020-01-01"), "no complete run of 2020-01-01"),
        (("--store", "STORE", "--collect", "no", "--date", "yesterday"), "--date: "),
        (("--store", "STORE", "--collect", "no", "--fail-on", "often"), "--fail-on: 'often'"),
        (("--store", "STORE", "--collect", "no", "--html", "/no/such/folder/x.html"), "no such folder"),
        (("--store", "STORE", "--collect", "no", "--html", "-", "--json"), "standard output takes only one"),
        (("--store", "STORE", "--collect", "no", "--spark-conf", "x"), "--spark-conf: 'x' is not KEY=VALUE"),
        (("show", "--store", "STORE", "--run", "nope"), "no audit of run 'nope'"),
        (("query", "SELECT 1", "--store", "EMPTY"), "no complete run"),
        (("query", "SELEC 1", "--store", "STORE"), "line 1, column 1"),
        (("query", "DROP TABLE findings", "--store", "STORE"), "only a single SELECT"),
        (("query", "SELECT * FROM read_csv('/etc/passwd')", "--store", "STORE"), "is not permitted"),
    ],
)
def test_a_wrong_word_is_one_line_and_changes_nothing(kfix, demo, tmp_path, args, said):
    before = files_of(demo)
    (tmp_path / "empty").mkdir()
    places = {"STORE": str(demo), "EMPTY": str(tmp_path / "empty")}
    done = kfix("audit", *(places.get(a, a) for a in args), code=2)
    assert said in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert files_of(demo) == before


@pytest.mark.parametrize(
    "command", [("audit", "--collect", "no"), ("fleet", "prune", "--keep", "1d", "--delete")], ids=["audit", "prune"]
)
def test_a_store_that_does_not_exist_is_not_created(kfix, tmp_path, command):
    done = kfix(*command, "--store", str(tmp_path / "typo"), code=2)
    assert "typo: there is no fleet store" in done.stderr
    assert not (tmp_path / "typo").exists()


def test_reports_can_be_had_again_in_every_form(kfix, demo, tmp_path):
    names = {
        "html": "<!doctype html>",
        "csv": "day,run,",
        "markdown": "**Kafka audit",
        "prometheus": "# HELP kfix_audit",
    }
    options = [x for kind in names for x in (f"--{kind}", tmp_path / kind)]
    said = kfix("audit", "show", "--store", demo, *options, "--json", "--fail-on", "never")
    assert json.loads(said.stdout)["schema"] == "kfix.audit/v1"
    for kind, start in names.items():
        assert start.lower() in (tmp_path / kind).read_text()[:400].lower(), kind


def test_an_output_that_cannot_be_written_is_one_line(kfix, demo):
    done = kfix("audit", "show", "--store", demo, "--html", "/dev/full", code=2)
    assert "/dev/full: cannot be written: No space left on device" in done.stderr


def test_files_that_are_damaged_make_unknown_clusters_and_no_more(kfix, store):
    run = newest_run(place_of(store))
    names = sorted(run.clusters)
    stored = run.stored()
    paths = [Path(stored[n].partitions) for n in names]
    paths[0].write_bytes(b"")
    pq.write_table(pa.table({"a": [1]}), paths[1])
    table = pq.read_table(paths[2], partitioning=None)
    pq.write_table(table.drop_columns(["n_isr"]), paths[2])
    done = kfix("audit", "--store", store, "--collect", "no", "--json", "--fail-on", "never", "-q")
    why = {c["cluster"]: c["why"] for c in json.loads(done.stdout)["clusters"] if not c["collected"]}
    assert all(str(p) in why[n] for n, p in zip(names[:3], paths, strict=False))
    assert "n_isr" in why[names[2]]
    assert len(why) == 3 + len(run.failed)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"began": 1, "mutes": 3}', None])
def test_a_damaged_newest_audit_is_named_and_no_older_one_passes_for_it(kfix, store, text):
    [last] = sorted(store.glob("tables/audits/*/*/*.parquet"))[-1:]
    if text is None:
        last.write_bytes(last.read_bytes()[:50])
    else:
        table = pq.read_table(last, partitioning=None)
        at = table.schema.get_field_index("manifest")
        pq.write_table(table.set_column(at, "manifest", pa.array([text])), last)
    day = date.fromisoformat(last.parts[-3].removeprefix("day="))
    assert f"kfix: {last}: is damaged" in kfix("audit", "show", "--store", store, code=2).stderr
    before = str(day - timedelta(days=1))
    assert kfix("audit", "show", "--store", store, "--date", before, "--fail-on", "never").stdout
    assert (
        f"warning: not in the history: {last}"
        in kfix("audit", "--store", store, "--collect", "no", "--date", before, "--fail-on", "never", "-q").stderr
    )


def test_a_run_that_is_not_committed_does_not_count(kfix, store):
    newest = newest_run(place_of(store))
    writer = RunWriter(place_of(store), newest.day + timedelta(days=1), "next")
    writer.begin()
    writer.write("a", base().snapshot())
    assert newest_run(place_of(store)).day == newest.day
    runs = json.loads(kfix("fleet", "runs", "--store", store, "--json").stdout)
    assert [(r["run"], r["state"], r["clusters"]) for r in runs][-2:] == [
        ("demo", "complete", len(newest.clusters)),
        ("next", "unfinished", 1),
    ]


def test_a_damaged_newest_run_is_named_and_no_older_one_passes_for_it(kfix, store):
    [last] = sorted(store.glob("tables/runs/*/*/*.parquet"))[-1:]
    last.write_bytes(last.read_bytes()[:50])
    assert str(last) in kfix("audit", "--store", store, "--collect", "no", "-q", code=2).stderr
    runs = json.loads(kfix("fleet", "runs", "--store", store, "--json").stdout)
    assert [r["state"] for r in runs] == ["complete", "complete", "damaged"]


@pytest.mark.parametrize("name", ["runs", "audits", "findings", "partitions"])
def test_a_damaged_log_of_a_table_is_named(kfix, store, name):
    for log in (store / "tables" / name / "_delta_log").iterdir():
        log.write_text("{")
    for words in (
        ("audit", "--collect", "no", "-q"),
        ("audit", "query", "SELECT 1"),
        ("fleet", "prune", "--keep", "1d"),
    ):
        done = kfix(*words, "--store", store, code=2)
        assert f"{store}/tables/{name}: " in done.stderr, (words, done.stderr)
        assert len(done.stderr.splitlines()) <= 2


def test_prune_lists_and_deletes_only_with_the_option(kfix, store):
    before = files_of(store)
    shown = kfix("fleet", "prune", "--store", store, "--keep", "1d")
    assert "nothing was deleted (--delete)" in shown.stdout
    assert files_of(store) == before
    kfix("fleet", "prune", "--store", store, "--keep", "1d", "--delete")
    left = {run["date"] for run in json.loads(kfix("fleet", "runs", "--store", store, "--json").stdout)}
    assert 0 < len(left) < 3
    assert "is not a number of days" in kfix("fleet", "prune", "--store", store, "--keep", "all", code=2).stderr
    assert "is not a fleet store" in kfix("fleet", "prune", "--store", store / "nothing", code=2).stderr


def test_runs_without_an_audit_are_judged_once(kfix, store):
    nothing = kfix("audit", "--store", store, "--collect", "no", "--since", "last")
    assert nothing.stdout == ""
    assert "every run has been audited; nothing to judge" in nothing.stderr
    begun = newest_run(place_of(store))
    for number in (1, 2):
        writer = RunWriter(place_of(store), begun.day + timedelta(days=number), "later")
        writer.write("one", base().snapshot())
        writer.finish()
    told = kfix("audit", "--store", store, "--collect", "no", "--since", "last", "--fail-on", "never", "--json")
    assert json.loads(told.stdout)["day"] == (begun.day + timedelta(days=2)).isoformat()
    days = kfix("audit", "query", "SELECT day, run FROM audits WHERE run = 'later'", "--store", store, "--json")
    assert days.stdout.count("later") == 2
    assert kfix("audit", "--store", store, "--collect", "no", "--since", "last", "-q").stderr == ""


def test_a_demo_is_never_mixed_with_what_is_there(kfix, store):
    assert "already has runs" in kfix("fleet", "demo", "--store", store, code=2).stderr
    assert "is out of range" in kfix("fleet", "demo", "--store", store, "--clusters", "0", code=2).stderr


def test_two_audits_of_a_store_do_not_overlap(kfix, store, tmp_path):
    """The first is held in the middle by SIGSTOP; the second says who it is, and goes."""
    first = subprocess.Popen(
        [KFIX, "audit", "--store", store, "--collect", "no", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_env(tmp_path / "state"),
    )
    try:
        lock = store / "lock"
        held = f"process {first.pid}"
        wait_until(lambda: lock.exists() and held in lock.read_text(), "the first holds the lock", 60, pause=0.01)
        first.send_signal(signal.SIGSTOP)
        said = kfix("audit", "--store", store, "--collect", "no", code=9).stderr
        assert f"another audit is running: process {first.pid} of " in said
    finally:
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=seconds(60))
    kfix("audit", "--store", store, "--collect", "no", "-q", "--fail-on", "never")


def test_the_embedded_audit_loads_no_spark_and_a_diagnosis_loads_no_parquet(demo, tmp_path):
    for words, never in (
        (["audit", "--store", str(demo), "--collect", "no", "--fail-on", "never", "-q"], ("pyspark", "py4j")),
        (
            ["diagnose", "--from", "examples/snapshots/healthy.json.gz"],
            ("pyarrow", "duckdb", "pyspark", "jinja2", "pydantic"),
        ),
        (
            ["--help"],
            ("pyarrow", "duckdb", "pyspark", "jinja2", "yaml", "pydantic", "msgspec", "kfix_diagnostics"),
        ),
    ):
        script = (
            f"import sys; sys.argv = ['kfix', *{words!r}]\n"
            "from kfix.__main__ import main\n"
            "try:\n    main()\n"
            "except SystemExit:\n    pass\n"
            f"print([m for m in {never!r} if m in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, env=_env(tmp_path)
        )
        assert done.stderr.splitlines()[-1] == "[]", words
