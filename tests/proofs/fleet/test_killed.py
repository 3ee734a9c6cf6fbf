"""Killed before or after any commit: readers see a table whole or without that run, and a repeat completes it."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import duckdb
import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from kfix.core.errors import UsageError
from kfix.fleet.audit.reading import find_audit
from kfix.fleet.demo.synthetic import write_fleet
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.store.audits import audits
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.fact_tables import LARGE
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run, runs
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.tables import ALL, AUDITED, COLLECTED, PARTITIONS, RUNS
from kfix.shell.app import app
from tests.places import ROOT
from tests.proofs.fleet.killed import DAY, KILLED
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.clusters import coordinator_stuck
from tests.unit.fleet.asked.planted import PlantedFleet
from tests.unit.fleet.audit_runs import AT, again, audited, cluster, day_of, reported, statuses
from tests.waiting import seconds

LAGS = "KFX401:broker 6"
#: With facts: a table without a row has no commit.
WELL = replace(PlantedFleet().beta(0).snapshot(), quorum=kraft_clusters.healthy().quorum)
#: In the order of their commits: those with a file of each cluster come first.
FIRST = PARTITIONS, *LARGE
FINISHED = [spec.name for spec in (*FIRST, *(each for each in COLLECTED if each not in FIRST), RUNS)]
JUDGED = [spec.name for spec in AUDITED]
#: The first audit has no transitions, so it writes no file of them.
STEPS_OF_THE_FIRST = [
    (where, step)
    for where, tables in (("before", len(JUDGED)), ("after", len(JUDGED)), ("writing", len(JUDGED) - 1))
    for step in range(1, tables + 1)
]


def killed(store, what, where, step):
    """Returns (commits before the end,), or () if the process had fewer steps and was complete."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.proofs.fleet.killed", str(store), str(what), where, str(step)],
        capture_output=True, text=True, check=False, timeout=seconds(120), cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert done.returncode in {0, KILLED}, done.stderr
    return (int(done.stdout),) if done.returncode == KILLED else ()


def outside(store):
    """{table: {(day, run): rows}} by deltalake's own reader and, the same, by DuckDB; no table, no rows."""
    found = {}
    for spec in ALL:
        place = store / "tables" / spec.name
        if not DeltaTable.is_deltatable(str(place)):
            found[spec.name] = {}
            continue
        table = DeltaTable(str(place))
        runs = table.to_pyarrow_table(columns=["day", "run"]).to_pylist()
        found[spec.name] = dict(Counter((r["day"], r["run"]) for r in runs))
        files = table.file_uris()
        asked = (
            f"SELECT day, run, count(*) FROM read_parquet({files!r}, hive_partitioning=true, hive_types={{day: DATE}})"
        )
        there = duckdb.sql(f"{asked} GROUP BY ALL").fetchall() if files else []
        assert {(day, run): n for day, run, n in there} == found[spec.name]
    return found


def states(store):
    said = CliRunner().invoke(app, ["fleet", "runs", "--store", str(store), "--json"])
    assert said.exit_code == 0, said.output
    return {(r["date"], r["run"]): r["state"] for r in json.loads(said.stdout)}


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """(a store with a complete run of the day before and a staged one, what readers see of it undisturbed)."""
    store = tmp_path_factory.mktemp("staged") / "store"
    before = RunWriter(place_of(store), DAY.replace(day=28, month=2), "r")
    before.write("old", WELL)
    before.finish()
    writer = RunWriter(place_of(store), DAY, "r")
    writer.begin()
    writer.write("well", WELL)
    writer.write("sick", coordinator_stuck().snapshot())
    whole = shutil.copytree(store, store.with_name("whole"))
    assert not killed(whole, "finish", "before", 99)
    return store, outside(whole)


@pytest.mark.parametrize("step", range(1, len(FINISHED) + 1), ids=FINISHED)
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_run_that_is_killed_at_a_commit(staged, tmp_path, where, step):
    store, whole = shutil.copytree(staged[0], tmp_path / "store"), staged[1]
    assert killed(store, "finish", where, step)
    seen = outside(store)
    there = {spec: run for spec, run in whole.items() if spec in FINISHED[: step - (where == "before")]}
    run = (DAY, "r")
    for name in FINISHED:
        without = {key: n for key, n in whole[name].items() if key != run}
        assert seen[name] == there.get(name, without), name
    complete = seen["runs"].get(run) is not None
    assert complete == (where == "after" and step == len(FINISHED))
    assert states(store)[str(DAY), "r"] == ("complete" if complete else "unfinished")
    assert [r.day for r in runs(place_of(store))] == [DAY.replace(day=28, month=2), *([DAY] if complete else [])]
    if complete:
        with pytest.raises(UsageError, match="is complete"):
            RunWriter(place_of(store), DAY, "r")
    else:
        resumed = RunWriter(place_of(store), DAY, "r")
        resumed.begin()
        assert set(resumed.there()) == {"well", "sick"}
        run = resumed.finish({"gone": "no answer"})
        assert dict(run.clusters) == {"well": 3, "sick": 62}
    assert outside(store) == whole
    assert states(store)[str(DAY), "r"] == "complete"
    assert sorted(newest_run(place_of(store)).stored()) == ["sick", "well"]
    _only_committed_files_stay(store)


@pytest.mark.parametrize("where", ["created", "writing"])
@pytest.mark.parametrize("step", range(1, len(FINISHED) + 1))
def test_the_first_run_of_a_store_that_is_killed_between_its_commits(staged, tmp_path, where, step):
    """A new store: the tables are created on the way. Or a file was written, or half of it, and not committed."""
    store = tmp_path / "store"
    writer = RunWriter(place_of(store), DAY, "r")
    writer.begin()
    writer.write("well", WELL)
    writer.write("sick", coordinator_stuck().snapshot())
    # All tables but `partitions` have a file of their own to write.
    assert killed(store, "finish", where, step) or (where, step) == ("writing", len(FINISHED))
    run = (DAY, "r")
    whole = {name: {run: staged[1][name][run]} if name in FINISHED else {} for name in staged[1]}
    if (where, step) != ("writing", len(FINISHED)):
        assert all(seen in ({}, whole[name]) for name, seen in outside(store).items())
        assert outside(store)["runs"] == {}
        assert states(store) == {(str(DAY), "r"): "unfinished"}
        RunWriter(place_of(store), DAY, "r").finish({"gone": "no answer"})
    assert outside(store) == whole
    _only_committed_files_stay(store)


def _only_committed_files_stay(store):
    for spec in ALL:
        table = StoreTable(place_of(store), spec)
        table.clean(0)
        committed = {f.place.path for f in table.files()}
        assert {
            str(p) for p in (store / "tables" / spec.name).rglob("*.parquet") if "_delta_log" not in p.parts
        } == committed


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """(a store with an audit of day 0 and a run of day 1, the same with an audit of day 1, the report of day 0)."""
    store, engine = tmp_path_factory.mktemp("judged") / "store", EmbeddedEngine(1)
    audited(store, [cluster("a", dead=1)], engine)
    write_fleet(str(store), day_of(1), "n", [cluster("a", 1)], processes=1, at=AT + 86_400)
    whole = shutil.copytree(store, store.with_name("whole"))
    again(whole, engine, number=1)
    return store, outside(whole), reported(store, find_audit(place_of(store)), engine)


@pytest.mark.parametrize("step", range(1, len(JUDGED) + 1), ids=JUDGED)
@pytest.mark.parametrize("where", ["before", "after", "writing"])
def test_a_new_audit_that_is_killed_leaves_the_last_one_whole(judged, tmp_path, where, step):
    store, engine, run = shutil.copytree(judged[0], tmp_path / "store"), EmbeddedEngine(1), (day_of(1), "n")
    whole = judged[1]
    [commits] = killed(store, 1, where, step)
    assert where == "writing" or commits == step - (where == "before")
    seen = outside(store)
    for number, name in enumerate(JUDGED, 1):
        without = {key: n for key, n in whole[name].items() if key != run}
        assert seen[name] == (whole[name] if number <= commits else without), name
    done = (where, step) == ("after", len(JUDGED))
    last = find_audit(place_of(store))
    assert last.day == day_of(int(done))
    if not done:
        assert reported(store, last, engine).findings == judged[2].findings
        again(store, engine, number=1)
    report = reported(store, find_audit(place_of(store)), engine)
    assert (report.day, report.previous_day, report.damaged) == (day_of(1), day_of(0), ())
    assert statuses(report)[("a", LAGS)] == "fixed"
    assert [p.day for p in report.trend] == [day_of(0), day_of(1)]
    assert outside(store) == whole
    _only_committed_files_stay(store)


@pytest.mark.parametrize(("where", "step"), STEPS_OF_THE_FIRST)
def test_a_repeated_audit_that_is_killed_is_whole_or_named_until_it_is_repeated(judged, tmp_path, where, step):
    store, engine = shutil.copytree(judged[0], tmp_path / "store"), EmbeddedEngine(1)
    before, first = outside(store), judged[2]
    [commits] = killed(store, 0, where, step)
    # Every table has the run once and whole, of one attempt or the other.
    assert outside(store) == before
    [found] = audits(place_of(store))
    mixed = 0 < commits < len(JUDGED)
    if mixed:
        with pytest.raises(UsageError, match="are of another attempt, which was killed") as said:
            reported(store, found, engine)
        assert "--date DAY --run RUN" in said.value.hint
        # The next audit says so, and is not compared with half of it.
        next_one = shutil.copytree(store, tmp_path / "next")
        report = reported(next_one, again(next_one, engine, number=1), engine)
        assert report.previous_day is None
        assert any("are of another attempt, which was killed" in line for line in report.damaged)
        again(store, engine)
    assert reported(store, find_audit(place_of(store), day=day_of(0)), engine).findings == first.findings
    assert outside(store) == before
    report = reported(store, again(store, engine, number=1), engine)
    assert (report.previous_day, statuses(report)[("a", LAGS)], report.damaged) == (day_of(0), "fixed", ())
    assert outside(store) == judged[1]
    _only_committed_files_stay(store)
