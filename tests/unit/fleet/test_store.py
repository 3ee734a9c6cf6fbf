"""The store: a run counts once it is whole, and what is no good file of it is told in one line that names the file."""

import gzip
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from pyarrow import fs

from kfix.adapters.fleet import schema
from kfix.adapters.fleet.case import Cluster
from kfix.adapters.fleet.places import Place, file_name, place_of, run_place
from kfix.adapters.fleet.runs import RunWriter, new_id, read_run, runs
from kfix.adapters.fleet.sieve import Sieve
from kfix.errors import KfixError, UnreachableError, UsageError
from kfix.fleet.pool import each
from kfix.model.expected import EXPECTED, values_of
from kfix.model.partition_facts import FACT_TYPES, derive
from kfix.model.predicate import compile_all, parse
from kfix.wiring import judge_stored
from kfix_diagnostics.catalogue import predicates
from tests.unit.diagnostics.clusters import base, fallen
from tests.unit.diagnostics.test_any_cluster import papers

DAY = date(2026, 3, 1)


@pytest.fixture
def run(tmp_path):
    writer = RunWriter(place_of(tmp_path), DAY, "r1")
    writer.write("well", base().snapshot())
    writer.write("sick", fallen().snapshot())
    return writer.finish({"gone": "connection refused"}, inputs="two")


def rewritten(path, change):
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def refused(path, *words):
    with pytest.raises(UsageError) as error:
        judge_stored(path)
    assert str(path) in str(error.value) or Path(path).stem in str(error.value)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_the_layout_is_the_documented_one(run, tmp_path):
    folder = tmp_path / "v1" / "date=2026-03-01" / "run=r1"
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "clusters/sick.json.gz", "clusters/well.json.gz", "manifest.json", "partitions/sick.parquet",
        "partitions/well.parquet",
    ]  # fmt: skip
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["clusters"] == {"sick": 62, "well": 62}
    assert manifest["failed"] == {"gone": "connection refused"}
    assert (manifest["rows"], manifest["inputs"]) == (124, "two")
    file = pq.ParquetFile(folder / "partitions" / "sick.parquet")
    assert file.schema_arrow.names == schema.PARTITIONS.names
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert schema.FACTS.names == [*FACT_TYPES]


def test_a_run_without_a_manifest_does_not_count_and_can_be_gone_on_with(tmp_path):
    root = place_of(tmp_path)
    RunWriter(root, DAY, "r1").write("a", base().snapshot())
    assert runs(root) == ()
    again = RunWriter(root, DAY, "r1")
    assert again.there() == ("a",)
    again.write("b", base().snapshot())
    done = again.finish()
    assert dict(done.clusters) == {"a": 62, "b": 62}
    assert runs(root) == (read_run(run_place(root, DAY, "r1")),)
    with pytest.raises(UsageError, match="complete already"):
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
    writer.write("one", fallen().snapshot())
    table = writer.finish().table("one")
    assert table.startswith("file://")
    assert judge_stored(table).findings
    for wrong in ("nosuch://bucket/x", ""):
        with pytest.raises(UsageError):
            place_of(wrong)


def test_a_place_that_is_no_local_disk(tmp_path):
    root = Place("sub:", "store", fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    writer = RunWriter(root, DAY, "r")
    writer.write("one", fallen().snapshot())
    assert not writer.place.local
    run = writer.finish()
    assert runs(root) == (run,)
    assert dict(run.clusters) == {"one": 62}
    assert judge_stored(str(tmp_path / run.table("one").replace("sub:", "store"))).findings


def test_only_its_owner_reads_what_names_hosts_and_groups(run, tmp_path):
    assert {p.stat().st_mode & 0o777 for p in tmp_path.rglob("*") if p.is_file()} == {0o600}


@pytest.mark.parametrize("name", ["a b", "../up", ".hidden", "_tmp", "x/y", "ü", "%41", "a=b", "C:\\x"])
def test_any_name_of_a_cluster_is_one_file_and_comes_back(name, tmp_path):
    assert "/" not in file_name(name)
    assert file_name(name)[0] not in "._"
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    writer.write(name, base().snapshot())
    assert writer.there() == (name,)
    run = writer.finish()
    assert judge_stored(run.table(name)).findings is not None


def test_bad_names_are_refused(tmp_path):
    for name in ("", "x" * 300):
        with pytest.raises(UsageError, match="no name of a cluster"):
            file_name(name)
    with pytest.raises(UsageError, match="no name of a run"):
        RunWriter(place_of(tmp_path), DAY, "../r")
    with pytest.raises(UsageError, match="no file of a fleet store"):
        judge_stored(str(tmp_path / "x.parquet"))


@pytest.mark.parametrize("left", [0, 3, 500, 0.5, 0.95])
def test_a_truncated_table_is_one_line(run, left):
    path = Path(run.table("sick"))
    raw = path.read_bytes()
    path.write_bytes(raw[: left if isinstance(left, int) else int(left * len(raw))])
    refused(path)


def test_a_damaged_page_is_one_line(run):
    path = Path(run.table("sick"))
    raw = bytearray(path.read_bytes())
    raw[60:900] = bytes(840)
    path.write_bytes(raw)
    refused(path)


def test_foreign_files_are_one_line(run):
    path = Path(run.table("sick"))
    rewritten(path, lambda _: pa.table({"x": [1]}))
    refused(path, "no column 'topic'")
    pq.write_table(pq.read_table(run.table("well")).slice(5), path)
    refused(path, "57 rows", "62")
    path.write_text("not parquet at all")
    refused(path)
    path.unlink()
    refused(path, "does not exist")


def test_a_missing_column_and_one_of_another_type_are_named(run):
    path = run.table("sick")
    rewritten(path, lambda t: t.drop_columns(["leaderless"]))
    refused(path, "no column 'leaderless'")
    path = run.table("well")
    at = schema.PARTITIONS.get_field_index("n_isr")
    rewritten(path, lambda t: t.set_column(at, "n_isr", t.column("n_isr").cast(pa.string())))
    refused(path, "column 'n_isr' is string, int64 is wanted")


def test_a_column_with_gaps_is_named(run):
    path = run.table("sick")
    at = schema.PARTITIONS.get_field_index("leader")
    rewritten(path, lambda t: t.set_column(at, "leader", pa.array([None] * t.num_rows, pa.int64())))
    refused(path, "'leader' has rows without a value")


def test_unknown_columns_are_ignored_and_new_ones_may_be_absent(run, monkeypatch):
    path = run.table("sick")
    before = judge_stored(path)
    rewritten(path, lambda t: t.append_column("later", pa.array(range(t.num_rows))))
    assert judge_stored(path) == before
    rewritten(path, lambda t: t.drop_columns(["n_unknown_replicas", "seen_error"]))
    monkeypatch.setattr(schema, "ABSENT", {"n_unknown_replicas": 0, "seen_error": 0})
    assert {f.key for f in judge_stored(path).walk()} == {f.key for f in before.walk()}


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.write_bytes(b""),
        lambda p: p.write_bytes(p.read_bytes()[:-20]),
        lambda p: p.write_bytes(b"{}"),
        lambda p: p.write_bytes(gzip.compress(b"{}")),
        lambda p: p.write_bytes(gzip.compress(b"[]")),
        lambda p: p.write_bytes(gzip.compress(b'{"format": "kfix.fleet-cluster", "version": 99}')),
        lambda p: p.write_bytes(gzip.compress(b'{"format":"kfix.fleet-cluster","version":1,"partitions":62}')),
        lambda p: p.unlink(),
    ],
)
def test_a_damaged_document_is_one_line(run, damage, tmp_path):
    damage(tmp_path / "v1/date=2026-03-01/run=r1/clusters/sick.json.gz")
    refused(run.table("sick"))


def test_a_damaged_manifest_is_one_line(run, tmp_path):
    path = tmp_path / "v1/date=2026-03-01/run=r1/manifest.json"
    for text in ("{", "[]", '{"format": "x", "version": 1}', '{"format": "kfix.fleet-run", "version": 1}'):
        path.write_text(text)
        with pytest.raises(UsageError, match="manifest"):
            runs(place_of(tmp_path))


def test_a_failing_cluster_of_a_run_is_a_row(run):
    Path(run.table("well")).write_bytes(b"PAR1")
    found = {d.name: d for d in each(judge_stored, run.tables, processes=2)}
    assert [*found] == ["sick", "well"]
    assert found["sick"].result is not None
    assert "well.parquet" in found["well"].error


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    (tmp_path / "v1").write_text("a file")
    with pytest.raises((UnreachableError, UsageError)):
        RunWriter(place_of(tmp_path), DAY, "r").write("a", base().snapshot())
    assert [p.name for p in tmp_path.iterdir()] == ["v1"]


def test_a_snapshot_with_a_number_that_no_cluster_has_is_one_line(tmp_path):
    paper = base()
    paper.part("orders", 0).epoch = 2**70
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    with pytest.raises(UsageError, match="odd: cannot be stored"):
        writer.write("odd", paper.snapshot())
    assert writer.there() == ()


def test_a_write_that_fails_leaves_what_was_there(run, monkeypatch):
    path = Path(run.table("well"))
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    from kfix.adapters.fleet.runs import write_cluster

    with pytest.raises(KfixError, match="No space left"):
        write_cluster(run.place, "well", None, {})
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if p.suffix == ".tmp"] == []


@settings(max_examples=60, deadline=None)
@given(papers())
def test_the_sieve_picks_what_the_loop_picks(paper):
    rows = derive(paper.snapshot())
    columns = {n: pa.array([getattr(r, n) for r in rows], schema.FACTS.field(n).type) for n in FACT_TYPES}
    more = (
        "False",
        "True",
        "1 < leader <= 3",
        "zk_agrees == views_agree",
        "zk_agrees < views_agree",
        "n_isr + 1 > -leader",
    )
    wanted = [*predicates(), *(parse(t, "here") for t in more if "-leader" not in t)]
    sieve = Sieve(columns.__getitem__, len(rows), values_of(EXPECTED))
    for predicate, hits in zip(wanted, compile_all(wanted)(rows), strict=True):
        assert [rows[i] for i in sieve.rows_of([predicate])] == hits, predicate.text
    assert sieve.rows_of([]) == []


def test_rows_are_found_by_halving_where_partitions_are_missing(tmp_path):
    paper = base()
    for gone in (0, 3, 4):
        del paper.parts[next(tp for tp in paper.parts if tp == ("orders", gone))]
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    writer.write("holes", paper.snapshot())
    columns = Cluster(writer.finish().table("holes")).columns
    topics, numbers = columns.sliced(["topic", "partition"], 0, columns.rows)
    from kfix.model.snapshot import TopicPartition as At

    for row, tp in enumerate(map(At, topics, numbers)):
        assert columns.row_of(tp) == row
    for tp in (At("orders", 0), At("orders", 3), At("orders", 12), At("nosuch", 0), At("orders", -1)):
        assert columns.row_of(tp) is None


def test_nothing_of_parquet_is_loaded_by_help_or_diagnose(tmp_path):
    from kfix.adapters.saved import files

    files.save(base().snapshot(), tmp_path / "look.json")
    for arguments in (["--help"], ["diagnose", "--from", str(tmp_path / "look.json")]):
        script = (
            f"import sys\nsys.argv = ['kfix', *{arguments!r}]\nfrom kfix.cli.app import app\n"
            "try:\n    app()\nexcept SystemExit:\n    pass\n"
            "print([m for m in ('pyarrow', 'duckdb', 'kfix.adapters.fleet', 'kfix.fleet') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"
