"""The store: its layout, a run that counts once it is whole, names, places, and the sieve over its columns."""

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from pyarrow import fs

from kfix.core.criteria import EXPECTED, values_of
from kfix.core.derive.partition_facts import FACT_TYPES, derive
from kfix.core.derive.predicate import compile_all, parse
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition as At
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store import schema
from kfix.fleet.store.columns import Columns
from kfix.fleet.store.flat import _TOPIC, counted
from kfix.fleet.store.places import StoreLocation, file_name, place_of
from kfix.fleet.store.rows import stored
from kfix.fleet.store.runs import read_run, runs
from kfix.fleet.store.sieve import Sieve
from kfix.fleet.store.staging import RunWriter, new_id
from kfix.fleet.store.tables import PARTITIONS
from kfix_diagnostics import ALL
from kfix_diagnostics.catalogue import predicates
from tests.each import for_each
from tests.unit.diagnostics.clusters import base, coordinator_stuck
from tests.unit.diagnostics.papers import papers

DAY = date(2026, 3, 1)


def files_in(folder):
    return [p for p in folder.rglob("*") if p.is_file()]


def test_the_layout_is_the_documented_one(run, tmp_path):
    folder = "day=2026-03-01/run=r1"
    found = {re.sub(r"-[0-9a-f]{8}\.parquet$", "", str(p.relative_to(tmp_path))) for p in files_in(tmp_path)}
    assert {name for name in found if "_delta_log" not in name} == {
        f"tables/partitions/{folder}/sick", f"tables/partitions/{folder}/well", f"tables/topics/{folder}/topics",
        f"tables/brokers/{folder}/brokers", f"tables/groups/{folder}/groups", f"tables/sources/{folder}/sources",
        f"tables/snapshots/{folder}/snapshots", f"tables/runs/{folder}/runs",
        f"tables/partition_states/{folder}/partition_states",
    }  # fmt: skip
    [row] = DeltaTable(str(tmp_path / "tables" / "runs")).to_pyarrow_table().to_pylist()
    assert (row["day"], row["run"], row["clusters"], row["failed"], row["partitions"]) == (DAY, "r1", 2, 1, 124)
    manifest = json.loads(row["manifest"])
    assert manifest["clusters"] == {"sick": 62, "well": 62}
    assert manifest["failed"] == {"gone": "connection refused"}
    assert manifest["inputs"] == "two"
    file = pq.ParquetFile(run.stored()["sick"].partitions)
    assert file.schema_arrow.names == PARTITIONS.file_schema.names == ["cluster", *schema.PARTITIONS.names]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert schema.PARTITIONS.names[: len(FACT_TYPES)] == [*FACT_TYPES]


def test_a_run_that_is_not_committed_does_not_count_and_can_be_resumed(tmp_path):
    root = place_of(tmp_path)
    first = RunWriter(root, DAY, "r1")
    first.begin()
    first.write("a", base().snapshot())
    staged = {p.relative_to(tmp_path).parts[:-1] for p in files_in(tmp_path)}
    run = ("date=2026-03-01", "run=r1")
    assert staged == {
        ("staging", *run),
        ("staging", *run, "clusters"),
        ("tables", "partitions", "day=2026-03-01", "run=r1"),
    }
    assert runs(root) == ()
    again = RunWriter(root, DAY, "r1")
    assert again.there() == ("a",)
    again.write("b", base().snapshot())
    done = again.finish()
    assert dict(done.clusters) == {"a": 62, "b": 62}
    assert runs(root) == (read_run(root, DAY, "r1"),)
    assert not [*(tmp_path / "staging").iterdir()]
    with pytest.raises(UsageError, match="is complete"):
        RunWriter(root, DAY, "r1")


def test_runs_are_listed_by_age_and_by_day(tmp_path):
    root = place_of(tmp_path)
    for day, name in ((2, "b"), (1, "z"), (2, "a")):
        RunWriter(root, date(2026, 3, day), name).finish()
    assert [(r.day.day, r.id) for r in runs(root)] == [(1, "z"), (2, "b"), (2, "a")]
    assert [r.id for r in runs(root, date(2026, 3, 1))] == ["z"]
    assert runs(place_of(tmp_path / "nothing")) == ()
    assert new_id() != new_id()


def test_a_url_is_a_place_too(tmp_path):
    root = place_of(f"file://{tmp_path}/store")
    writer = RunWriter(root, DAY, "r")
    writer.write("one", coordinator_stuck().snapshot())
    stored = writer.finish().stored()["one"]
    assert stored.partitions.startswith("file://")
    assert stored.document.startswith("file://")
    assert judge_stored(stored).findings
    for wrong in ("nosuch://bucket/x", ""):
        with pytest.raises(UsageError):
            place_of(wrong)


def test_a_place_that_is_no_local_disk(tmp_path):
    below = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    root = StoreLocation(f"file://{tmp_path}/store", "store", below)
    writer = RunWriter(root, DAY, "r")
    writer.write("one", coordinator_stuck().snapshot())
    assert not writer.place.local
    run = writer.finish()
    assert runs(root) == (run,)
    assert dict(run.clusters) == {"one": 62}
    assert judge_stored(run.stored()["one"]).findings


def test_only_its_owner_reads_what_names_hosts_and_groups(run, tmp_path):
    # deltalake writes the logs: nobody else can open the folders that they are in.
    written = [p for p in files_in(tmp_path) if "_delta_log" not in p.parts]
    assert {p.stat().st_mode & 0o777 for p in written} == {0o600}
    assert {p.stat().st_mode & 0o777 for p in tmp_path.rglob("*") if p.is_dir()} == {0o700}


@for_each("name", ["a b", "../up", ".hidden", "_tmp", "x/y", "ü", "%41", "a=b", "C:\\x"])
def test_any_name_of_a_cluster_is_one_file_and_comes_back(name, tmp_path):
    assert "/" not in file_name(name)
    assert file_name(name)[0] not in "._"
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    writer.write(name, base().snapshot())
    assert writer.there() == (name,)
    run = writer.finish()
    assert judge_stored(run.stored()[name]).findings is not None
    assert DeltaTable(str(tmp_path / "tables" / "partitions")).to_pyarrow_table().num_rows == 62


@settings(max_examples=60, deadline=None)
@given(papers())
def test_the_sieve_picks_what_the_loop_picks(paper):
    rows = derive(paper.snapshot())
    columns = {n: pa.array([getattr(r, n) for r in rows], schema.PARTITIONS.field(n).type) for n in FACT_TYPES}
    more = ("1 < 0", "expected_rf >= 1", "1 < leader and leader <= 3", "n_isr + 1 > -leader")
    wanted = [*predicates(), *(parse(t, "here") for t in more)]
    sieve = Sieve(columns.__getitem__, len(rows), values_of(EXPECTED))
    for predicate, hits in zip(wanted, compile_all(wanted)(rows), strict=True):
        assert [rows[i] for i in sieve.rows_of([predicate])] == hits, predicate.text
        assert sieve.count(predicate) == len(hits), predicate.text
    assert sieve.rows_of([]) == []


@settings(max_examples=40, deadline=None)
@given(papers())
def test_the_topics_count_what_the_checks_of_diagnose_pick(paper):
    """A topic with partitions under min.insync.replicas in the history has a row for KFX301 or KFX304, and so on."""
    snapshot = paper.snapshot()
    checks = {"leaderless": ["KFX112"], "under_min_isr": ["KFX301", "KFX304"]}
    document = counted(stored(snapshot, "a")[0])["by_topic"]
    rows = {check.code: parse(check.rows, check.code) for check in ALL if check.rows}
    for name, codes in checks.items():
        found = Counter(r.topic for hits in compile_all([rows[c] for c in codes])(derive(snapshot)) for r in hits)
        told = {topic: dict(zip(_TOPIC, values, strict=True))[name] for topic, values in document.items()}
        assert told == {topic: found[topic] for topic in document}, name


def test_rows_are_found_by_halving_where_partitions_are_missing(tmp_path):
    paper = base()
    for gone in (0, 3, 4):
        del paper.parts[next(tp for tp in paper.parts if tp == ("orders", gone))]
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    writer.write("holes", paper.snapshot())
    columns = Columns(place_of(writer.finish().stored()["holes"].partitions), ())
    topics, numbers = columns.sliced(["topic", "partition"], 0, columns.rows)
    for row, tp in enumerate(map(At, topics, numbers)):
        assert columns.row_of(tp) == row
    for tp in (At("orders", 0), At("orders", 3), At("orders", 12), At("nosuch", 0), At("orders", -1)):
        assert columns.row_of(tp) is None


def test_nothing_of_parquet_is_loaded_by_help_or_diagnose(tmp_path):
    from kfix.core.saved import files

    files.save(base().snapshot(), tmp_path / "look.json")
    for arguments in (["--help"], ["diagnose", "--from", str(tmp_path / "look.json")]):
        script = (
            f"import sys\nsys.argv = ['kfix', *{arguments!r}]\nfrom kfix.shell.app import app\n"
            "try:\n    app()\nexcept SystemExit:\n    pass\n"
            "heavy = ('pyarrow', 'duckdb', 'deltalake', 'kfix.fleet.store', 'kfix.fleet')\n"
            "print([m for m in heavy if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"
