"""A damaged file of the store is reported in one line with its name, and is a row of the audit."""

import gzip
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.adapters.fleet import schema
from kfix.adapters.fleet.places import file_name, place_of
from kfix.adapters.fleet.runs import RunWriter, runs
from kfix.app.fleet import judge_stored
from kfix.errors import KfixError, UnreachableError, UsageError
from tests.unit.diagnostics.clusters import base

DAY = date(2026, 3, 1)


def rewritten(path, change):
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def refused(path, *words):
    with pytest.raises(UsageError) as error:
        judge_stored(path)
    assert str(path) in str(error.value) or Path(path).stem in str(error.value)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_bad_names_are_refused(tmp_path):
    for name in ("", "x" * 300):
        with pytest.raises(UsageError, match="not a valid cluster name"):
            file_name(name)
    with pytest.raises(UsageError, match="not a valid run name"):
        RunWriter(place_of(tmp_path), DAY, "../r")
    with pytest.raises(UsageError, match="not a file of a fleet store"):
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
    refused(path, "column 'n_isr' is string, expected int64")


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
