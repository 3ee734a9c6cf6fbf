"""A damaged file of the store is reported in one line with its name, and is a row of the audit.

The files are those of the tables, the rows in them, the log of a commit, and the document of a staged cluster.
"""

import gzip
import json
from contextlib import suppress
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.fleet.judging.case import judge_stored
from kfix.fleet.store.footers import parquet_file
from kfix.fleet.store.listing import listed
from kfix.fleet.store.places import file_name, place_of, run_place
from kfix.fleet.store.rows import stored
from kfix.fleet.store.runs import StoredCluster, newest_run, runs
from kfix.fleet.store.staging import RunWriter, write_cluster
from tests.unit.diagnostics.clusters import base

DAY = date(2026, 3, 1)


def rewritten(path, change):
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def refused(stored, *words, path=None):
    with pytest.raises(UsageError) as error:
        judge_stored(stored)
    assert str(path or stored.partitions) in str(error.value)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_bad_names_are_refused(tmp_path):
    for name in ("", "x" * 300):
        with pytest.raises(UsageError, match="not a valid cluster name"):
            file_name(name)
    with pytest.raises(UsageError, match="not a valid run name"):
        RunWriter(place_of(tmp_path), DAY, "../r")
    (tmp_path / "x.parquet").write_text("x")
    with pytest.raises(UsageError, match="not a file of a fleet store"):
        judge_stored(StoredCluster("x", *[str(tmp_path / "x.parquet")] * 2, 0))


@pytest.mark.parametrize("left", [0, 3, 500, 0.5, 0.95])
def test_a_truncated_table_is_one_line(run, left):
    stored = run.stored()["sick"]
    path = Path(stored.partitions)
    raw = path.read_bytes()
    path.write_bytes(raw[: left if isinstance(left, int) else int(left * len(raw))])
    refused(stored)
    # The file is found by the log of the table: it does not hide the other cluster.
    assert judge_stored(run.stored()["well"]) is not None


def test_a_damaged_page_is_one_line(run):
    stored = run.stored()["sick"]
    path = Path(stored.partitions)
    raw = bytearray(path.read_bytes())
    raw[60:900] = bytes(840)
    path.write_bytes(raw)
    refused(stored)


def test_foreign_files_are_one_line(run):
    stored = run.stored()["sick"]
    path = Path(stored.partitions)
    rewritten(path, lambda _: pa.table({"x": [1]}))
    refused(stored, "no column 'topic'")
    pq.write_table(pq.read_table(run.stored()["well"].partitions, partitioning=None).slice(5), path)
    refused(stored, "57 rows", "62")
    path.write_text("not parquet at all")
    refused(stored)
    path.unlink()
    refused(stored, "does not exist")


def test_a_missing_column_and_one_of_another_type_are_named(run):
    stored = run.stored()["sick"]
    rewritten(stored.partitions, lambda t: t.drop_columns(["leaderless"]))
    refused(stored, "no column 'leaderless'")
    stored = run.stored()["well"]

    def texts(t):
        return t.set_column(t.schema.get_field_index("n_isr"), "n_isr", t.column("n_isr").cast(pa.string()))

    rewritten(stored.partitions, texts)
    refused(stored, "column 'n_isr' is string, expected int64")


def test_a_column_with_gaps_is_named(run):
    stored = run.stored()["sick"]

    def gaps(t):
        at = t.schema.get_field_index("leader")
        return t.set_column(at, "leader", pa.array([None] * t.num_rows, pa.int64()))

    rewritten(stored.partitions, gaps)
    refused(stored, "'leader' has rows without a value")


def test_unknown_columns_are_ignored(run):
    stored = run.stored()["sick"]
    before = judge_stored(stored)
    rewritten(stored.partitions, lambda t: t.append_column("later", pa.array(range(t.num_rows))))
    assert judge_stored(stored) == before


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
    ],
)
def test_a_damaged_document_of_an_unfinished_run_is_one_line(damage, tmp_path):
    writer = RunWriter(place_of(tmp_path), DAY, "r1")
    writer.write("sick", base().snapshot())
    [path] = (tmp_path / "staging/date=2026-03-01/run=r1/clusters").iterdir()
    damage(path)
    with pytest.raises(UsageError) as error:
        writer.finish()
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert runs(place_of(tmp_path)) == ()


def documents(change):
    """Changes the column of documents in the file of the table `snapshots`."""

    def changed(table):
        texts = [None if text is None else change(text) for text in table.column("document").to_pylist()]
        return table.set_column(table.schema.get_field_index("document"), "document", pa.array(texts, pa.string()))

    return lambda path: rewritten(path, changed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.write_bytes(b""),
        lambda p: p.write_bytes(p.read_bytes()[:-20]),
        lambda p: p.write_bytes(b"{}"),
        lambda p: p.unlink(),
        lambda p: rewritten(p, lambda _: pa.table({"x": [1]})),
        lambda p: rewritten(p, lambda t: t.slice(0, 1)),
        lambda p: rewritten(p, lambda t: t.take([2, 0, 1])),
        lambda p: rewritten(p, lambda t: t.drop_columns(["document"])),
        documents(lambda _: None),
        documents(lambda _: ""),
        documents(lambda _: "{}"),
        documents(lambda _: "[]"),
        documents(lambda text: text[:-20]),
        documents(lambda _: '{"format": "kfix.fleet-cluster", "version": 99}'),
        documents(lambda _: '{"format":"kfix.fleet-cluster","version":1,"partitions":62}'),
    ],
)
def test_a_damaged_document_is_one_line(run, damage):
    stored = run.stored()["sick"]
    damage(Path(stored.document))
    refused(stored, path=stored.document)


def manifest(change):
    def changed(table):
        texts = pa.array([change(text) for text in table.column("manifest").to_pylist()], pa.string())
        return table.set_column(table.schema.get_field_index("manifest"), "manifest", texts)

    return lambda path: rewritten(path, changed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.write_bytes(b""),
        lambda p: p.write_bytes(p.read_bytes()[:-20]),
        lambda p: p.unlink(),
        lambda p: rewritten(p, lambda _: pa.table({"x": [1]})),
        lambda p: rewritten(p, lambda t: t.slice(0, 0)),
        manifest(lambda _: None),
        manifest(lambda _: "{"),
        manifest(lambda _: "[]"),
        manifest(lambda _: "{}"),
        manifest(lambda text: json.dumps(json.loads(text) | {"clusters": ["sick"]})),
        manifest(lambda text: json.dumps(json.loads(text) | {"began": "yesterday"})),
    ],
)
def test_a_damaged_row_of_runs_is_one_line_and_hides_no_other(run, damage, tmp_path):
    RunWriter(place_of(tmp_path), date(2026, 2, 28), "r0").finish()
    [path] = (tmp_path / "tables/runs/day=2026-03-01").rglob("*.parquet")
    damage(path)
    root = place_of(tmp_path)
    for ask in (lambda: runs(root), lambda: newest_run(root)):
        with pytest.raises(UsageError) as error:
            ask()
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
    damaged = []
    assert [r.id for r in runs(root, damaged=damaged)] == ["r0"]
    assert len(damaged) == 1
    assert [(r.id, r.state) for r in listed(root)] == [("r0", "complete"), ("r1", "damaged")]
    assert newest_run(root, date(2026, 2, 28)).id == "r0"


@pytest.mark.parametrize("name", ["runs", "partitions"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda log: log.write_text(log.read_text()[:40]),
        lambda log: log.write_text("not JSON"),
        lambda log: log.write_text('{"add": {"path": 3}}'),
        lambda log: log.with_name("00000000000000000000.json").unlink(),
        lambda log: log.with_name("00000000000000000000.json").write_text("{}"),
    ],
)
def test_a_damaged_log_of_a_table_is_one_line(run, damage, name, tmp_path):
    damage(tmp_path / "tables" / name / "_delta_log" / "00000000000000000001.json")
    root = place_of(tmp_path)
    with pytest.raises(KfixError) as error:
        newest_run(root).stored()
    assert str(tmp_path / "tables" / name) in str(error.value)
    assert "\n" not in str(error.value)
    # It is not taken for a table that does not exist yet, and nothing is written over it.
    writer = RunWriter(root, date(2026, 3, 2), "r2") if name == "partitions" else None
    with pytest.raises(KfixError, match=f"tables/{name}"):
        writer.finish() if writer else RunWriter(root, date(2026, 3, 2), "r2")


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path):
    for name in ("tables", "staging"):
        (tmp_path / name).write_text("a file")
    with pytest.raises((UnreachableError, UsageError)):
        RunWriter(place_of(tmp_path), DAY, "r").write("a", base().snapshot())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["staging", "tables"]


def test_a_snapshot_with_a_number_that_no_cluster_has_is_one_line(tmp_path):
    paper = base()
    paper.part("orders", 0).epoch = 2**70
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    with pytest.raises(UsageError, match="odd: cannot be stored"):
        writer.write("odd", paper.snapshot())
    assert writer.there() == ()


def test_a_write_that_fails_leaves_what_was_there(run, monkeypatch):
    path = Path(run.stored()["well"].partitions)
    before = path.read_bytes()
    table, document = stored(base().snapshot(), "well")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(KfixError, match="No space left"):
        write_cluster(run_place(run.root, run.day, run.id), "well", table, document)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if p.suffix == ".tmp"] == []
    assert run.stored()["well"].partitions == str(path)


def test_a_file_that_is_replaced_is_read_anew(tmp_path):
    """Its footer is parsed once a process, and again when the file has changed."""
    place = place_of(tmp_path / "x.parquet")
    for rows in (2, 3):
        pq.write_table(pa.table({"a": [*range(rows)]}), place.path)
        for _ in range(2):
            with parquet_file(place) as file:
                assert file.read().num_rows == rows
    Path(place.path).unlink()
    with pytest.raises(FileNotFoundError):
        parquet_file(place)


def test_a_name_that_is_no_text_is_one_line(run):
    stored = run.stored()["sick"]

    def bent(table):
        at = table.schema.get_field_index("topic")
        names = [str(name).encode().replace(b"o", b"\x80") for name in table["topic"].to_pylist()]
        return table.set_column(at, "topic", pa.array(names, pa.binary()).view(pa.string()))

    rewritten(Path(stored.partitions), bent)
    refused(stored, "is damaged")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_change_to_the_bytes_of_a_table_gives_a_traceback_or_hides_the_other_cluster(run, data):
    stored, well = run.stored()["sick"], run.stored()["well"]
    path = Path(stored.partitions)
    raw = path.read_bytes()
    start = data.draw(st.integers(0, len(raw) - 1))
    garbage = data.draw(st.binary(min_size=1, max_size=64))
    end = start if data.draw(st.booleans()) else start + len(garbage)
    try:
        path.write_bytes(raw[:start] + garbage + raw[end:])
        with suppress(UsageError):
            judge_stored(stored)
        assert judge_stored(well) is not None
    finally:
        path.write_bytes(raw)
