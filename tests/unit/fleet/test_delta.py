"""The tables: a commit replaces one run and no other, for every reader; what each column means is in the schema."""

import json
import os
import subprocess
import sys
import textwrap
import time
from datetime import UTC, date, datetime, timedelta

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kfix.core.derive.partition_facts import FACT_TYPES, PartitionFacts
from kfix.core.errors import HeldError, KfixError, UsageError
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.flat import table_of
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.schema import PARTITIONS as STORED
from kfix.fleet.store.staging import RunWriter, replace_run, write_file
from kfix.fleet.store.tables import ALL, PARTITIONS, SOURCES
from tests.each import for_each
from tests.unit.diagnostics.clusters import base
from tests.waiting import seconds

DAY = date(2026, 3, 1)
NEXT = date(2026, 3, 2)
NAMES = ["a b", "../up", ".hidden", "_tmp", "x/y", "ü", "%41", "a=b", "C:\\x"]


def rows(*sources, cluster="c"):
    """Rows of the smallest table."""
    return table_of(
        SOURCES, [{"cluster": cluster, "source": s, "ok": True, "error": None, "seconds": 0.5} for s in sources]
    )


def put(root, day, run, *sources):
    replace_run(place_of(root), SOURCES, day, run, rows(*sources))


def table_in(root, spec=SOURCES):
    return DeltaTable(str(root / "tables" / spec.name))


def outside(root):
    """{(day, run): sources}, the same by deltalake's own reader and by DuckDB over the files that the log names."""
    table = table_in(root)
    here = table.to_pyarrow_table(columns=["day", "run", "source"]).to_pylist()
    files = table.file_uris()
    there = []
    if files:
        asked = (
            f"SELECT day, run, source FROM read_parquet({files!r}, hive_partitioning=true, hive_types={{day: DATE}})"
        )
        there = duckdb.sql(asked).fetchall()
    assert sorted(map(str, there)) == sorted(str(tuple(r.values())) for r in here)
    found = {}
    for each in here:
        found.setdefault((each["day"], each["run"]), []).append(each["source"])
    return {run: sorted(sources) for run, sources in found.items()}


def test_a_commit_replaces_one_night_and_no_other(tmp_path):
    put(tmp_path, DAY, "r", "one", "two")
    put(tmp_path, DAY, "s", "three")
    put(tmp_path, NEXT, "r", "four")
    put(tmp_path, DAY, "r", "five")
    assert outside(tmp_path) == {(DAY, "r"): ["five"], (DAY, "s"): ["three"], (NEXT, "r"): ["four"]}
    assert StoreTable(place_of(tmp_path), SOURCES).runs() == [(DAY, "r"), (DAY, "s"), (NEXT, "r")]


def test_a_night_without_rows_is_none_and_removing_one_removes_no_other(tmp_path):
    put(tmp_path, DAY, "r", "one")
    put(tmp_path, DAY, "r-2", "two")
    put(tmp_path, NEXT, "r", "three")
    table = StoreTable(place_of(tmp_path), SOURCES)
    put(tmp_path, DAY, "r")
    assert outside(tmp_path) == {(DAY, "r-2"): ["two"], (NEXT, "r"): ["three"]}
    table.remove(NEXT, "r")
    version = table_in(tmp_path).version()
    table.remove(NEXT, "r")
    assert table_in(tmp_path).version() == version, "nothing is committed where nothing is removed"
    assert outside(tmp_path) == {(DAY, "r-2"): ["two"]}
    table.remove(DAY, "r-2")
    assert outside(tmp_path) == {}


def test_a_repeat_is_counted_once_by_every_reader(tmp_path):
    for _ in range(3):
        put(tmp_path, DAY, "r", "one", "two")
    assert outside(tmp_path) == {(DAY, "r"): ["one", "two"]}
    # The files of the attempts before are still there, for whoever has just opened the table.
    run = tmp_path / "tables" / "sources" / "day=2026-03-01" / "run=r"
    assert len([*run.iterdir()]) == 3
    before = DeltaTable(str(tmp_path / "tables" / "sources"), version=1)
    assert before.to_pyarrow_table().num_rows == 2


def test_the_store_does_not_exist_until_something_is_committed(tmp_path):
    table = StoreTable(place_of(tmp_path), SOURCES)
    assert (table.files(), table.runs(), table.clean(0)) == ([], [], 0)
    table.remove(DAY, "r")
    assert not (tmp_path / "tables").exists()


def test_a_file_that_was_never_committed_is_in_no_table_and_goes(tmp_path):
    put(tmp_path, DAY, "r", "one")
    table = StoreTable(place_of(tmp_path), SOURCES)
    write_file(table.folder(DAY, "r"), "sources", rows("never"))
    write_file(table.folder(NEXT, "s"), "sources", rows("never"))
    files = {f.place.path for f in table.files()}
    assert outside(tmp_path) == {(DAY, "r"): ["one"]}
    # What was written lately may be committed yet: an unfinished run is being collected.
    assert table.clean(24) == 0
    assert table.clean(0) == 2
    assert {str(p) for p in (tmp_path / "tables" / "sources").rglob("*.parquet")} == files
    assert outside(tmp_path) == {(DAY, "r"): ["one"]}


def test_partitions_of_an_unfinished_run_outlive_a_clean_of_the_store(tmp_path):
    RunWriter(place_of(tmp_path), DAY, "r").finish()
    writer = RunWriter(place_of(tmp_path), NEXT, "r")
    writer.write("a", base().snapshot())
    for spec in ALL:
        StoreTable(place_of(tmp_path), spec).clean(24)
    assert dict(writer.finish().clusters) == {"a": 62}
    assert table_in(tmp_path, PARTITIONS).to_pyarrow_table().num_rows == 62


RACE = """
import sys, time
from datetime import date, timedelta
from kfix.core.errors import HeldError
from tests.unit.fleet.test_delta import put
from pathlib import Path
root, who, start, same = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4] == "same"
time.sleep(max(0.0, start - time.time()))
held = 0
for n in range(4):
    try:
        put(root, date(2026, 3, 1) + timedelta(days=n), "r" if same else who, *[f"{who}-{i}" for i in range(3)])
    except HeldError:
        held += 1
print(held)
"""


def race(root, same, tmp_path):
    script = tmp_path / "race.py"
    script.write_text(textwrap.dedent(RACE))
    start = str(time.time() + 4)
    racing = [
        subprocess.Popen(
            [sys.executable, str(script), str(root), who, start, same],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for who in ("a", "b", "c")
    ]
    ended = [process.communicate(timeout=seconds(120)) for process in racing]
    assert [p.returncode for p in racing] == [0, 0, 0], ended
    return sum(int(out) for out, _ in ended)


def test_processes_that_commit_different_runs_all_land(tmp_path):
    root = tmp_path / "store"
    assert race(root, "different", tmp_path) == 0
    days = [DAY + timedelta(days=n) for n in range(4)]
    assert outside(root) == {(day, who): [f"{who}-{i}" for i in range(3)] for day in days for who in "abc"}


def test_processes_that_commit_the_same_runs_leave_each_night_whole(tmp_path):
    root = tmp_path / "store"
    race(root, "same", tmp_path)
    found = outside(root)
    assert set(found) == {(DAY + timedelta(days=n), "r") for n in range(4)}
    for sources in found.values():
        assert sources in [[f"{who}-{i}" for i in range(3)] for who in "abc"]


def between(monkeypatch, act):
    """Calls `act` once, after a table was opened for a commit and before that commit."""
    real, acted = StoreTable._opened, []

    def opened(table):
        found = real(table)
        if not acted:
            acted.append(True)
            act()
        return found

    monkeypatch.setattr(StoreTable, "_opened", opened)


def test_of_two_that_change_the_same_night_one_is_held(tmp_path, monkeypatch):
    put(tmp_path, DAY, "r", "first")
    put(tmp_path, NEXT, "r", "other")
    between(monkeypatch, lambda: put(tmp_path, DAY, "r", "theirs"))
    with pytest.raises(HeldError, match="another process changed the same run") as held:
        put(tmp_path, DAY, "r", "mine")
    assert "\n" not in str(held.value)
    assert outside(tmp_path) == {(DAY, "r"): ["theirs"], (NEXT, "r"): ["other"]}
    put(tmp_path, DAY, "r", "mine")
    assert outside(tmp_path) == {(DAY, "r"): ["mine"], (NEXT, "r"): ["other"]}


def test_of_two_that_write_a_new_night_one_is_held(tmp_path, monkeypatch):
    put(tmp_path, NEXT, "r", "other")
    between(monkeypatch, lambda: put(tmp_path, DAY, "r", "theirs"))
    with pytest.raises(HeldError):
        put(tmp_path, DAY, "r", "mine")
    assert outside(tmp_path) == {(DAY, "r"): ["theirs"], (NEXT, "r"): ["other"]}


def test_of_two_that_change_different_nights_both_land(tmp_path, monkeypatch):
    put(tmp_path, DAY, "r", "first")
    between(monkeypatch, lambda: put(tmp_path, DAY, "s", "theirs"))
    put(tmp_path, DAY, "r", "mine")
    assert outside(tmp_path) == {(DAY, "r"): ["mine"], (DAY, "s"): ["theirs"]}


def test_of_two_that_create_the_table_both_land(tmp_path, monkeypatch):
    between(monkeypatch, lambda: put(tmp_path, DAY, "s", "theirs"))
    put(tmp_path, DAY, "r", "mine")
    assert outside(tmp_path) == {(DAY, "r"): ["mine"], (DAY, "s"): ["theirs"]}


def comments(spec):
    return {field.name: field.metadata[b"comment"].decode() for field in spec.schema}


@for_each("spec", ALL, ids=lambda s: s.name)
def test_every_column_says_what_it_is(spec, tmp_path):
    StoreTable(place_of(tmp_path), spec).replace(DAY, "r", [])
    table = table_in(tmp_path, spec)
    told = {f.name: f.metadata.get("comment", "") for f in table.schema().fields}
    assert [*told] == ["day", "run", *(c.name for c in spec.columns)]
    assert told == comments(spec)
    for column in spec.columns:
        assert column.comment
        assert column.comment in told[column.name]
        assert not column.unit or f"({column.unit})" in told[column.name]
        assert not column.null or told[column.name].endswith(f"; null: {column.null}")
    assert all(f.nullable == bool(c.null) for f, c in zip(table.schema().fields[2:], spec.columns, strict=True))
    assert (table.metadata().name, table.metadata().description) == (spec.name, spec.row)
    assert table.metadata().partition_columns == ["day", "run"]
    # Plain enough for every reader, and all integers have 64 bits, all times are UTC.
    protocol = table.protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) <= (3, 7)
    assert set(protocol.reader_features or ()) == set()
    for field in spec.file_schema:
        assert field.type in {
            pa.string(), pa.int64(), pa.bool_(), pa.float64(), pa.date32(), pa.timestamp("us", "UTC"),
            pa.list_(pa.int64()), pa.list_(pa.string()),
        }  # fmt: skip


def test_numbers_have_a_unit_where_they_have_one():
    """A number without a unit is a name: of a partition, an epoch of nothing, a rank."""
    bare = {
        (spec.name, c.name) for spec in ALL for c in spec.columns if c.type in (pa.int64(), pa.float64()) and not c.unit
    }
    assert bare == {
        ("partitions", "partition"),
        ("partitions", "state"),
        ("partition_states", "state"),
        ("partition_states", "unclean"),
        ("partition_states", "unclean_later"),
        ("groups", "partition"),
        ("partition_logs", "partition"),
        ("replica_sizes", "partition"),
        ("listeners", "port"),
        ("apis", "api"),
        ("apis", "oldest"),
        ("apis", "newest"),
        ("brokers", "port"),
        ("findings", "rank"),
        ("partition_changes", "partition"),
        ("partition_changes", "record"),
        ("episodes", "worst"),
    }


def test_every_fact_of_a_partition_is_a_column_with_a_comment():
    columns = {c.name: c for c in PARTITIONS.columns}
    assert [*columns] == ["cluster", *STORED.names]
    assert [*FACT_TYPES] == [*PartitionFacts._fields]
    for name, kind in FACT_TYPES.items():
        assert columns[name].comment, name
        assert not columns[name].null, name
        assert columns[name].type == {bool: pa.bool_(), int: pa.int64(), str: pa.string()}[kind]
    # What is written is what is declared.
    assert {f.name: (f.type, f.nullable) for f in STORED} == {
        c.name: (c.type, bool(c.null)) for c in PARTITIONS.columns[1:]
    }


def protocol_with(root, feature, reader):
    """Rewrites the first commit as another writer makes it, with a feature of the format."""
    log = root / "tables" / "sources" / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": [feature] if reader else [],
                "writerFeatures": [feature],
            }
        if "metaData" in line and feature == "columnMapping":
            line["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
            line["metaData"]["configuration"]["delta.columnMapping.maxColumnId"] = "9"
            schema = json.loads(line["metaData"]["schemaString"])
            for number, field in enumerate(schema["fields"], 1):
                field["metadata"]["delta.columnMapping.id"] = number
                field["metadata"]["delta.columnMapping.physicalName"] = f"col-{number}"
            line["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("feature", ["columnMapping", "deletionVectors", "v2Checkpoint", "somethingNew"])
def test_a_table_with_a_feature_that_changes_how_it_is_read_is_refused(tmp_path, feature):
    put(tmp_path, DAY, "r", "one")
    protocol_with(tmp_path, feature, reader=True)
    table = StoreTable(place_of(tmp_path), SOURCES)
    for act in (table.files, table.runs, lambda: table.replace(DAY, "r", []), lambda: table.clean(0)):
        with pytest.raises(UsageError) as refused:
            act()
        assert str(table.place) in str(refused.value)
        assert "\n" not in str(refused.value)
    log = sorted(p.name for p in (tmp_path / "tables" / "sources" / "_delta_log").iterdir())
    assert log == ["00000000000000000000.json", "00000000000000000001.json"]


def test_a_table_of_an_old_protocol_with_column_mapping_is_refused(tmp_path):
    """Column mapping is part of reader version 2, which names no features."""
    put(tmp_path, DAY, "r", "one")
    protocol_with(tmp_path, "columnMapping", reader=True)
    log = tmp_path / "tables" / "sources" / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UsageError):
        StoreTable(place_of(tmp_path), SOURCES).files()


def test_a_checkpoint_is_written_every_ten_commits_and_changes_nothing(tmp_path):
    writer = RunWriter(place_of(tmp_path), DAY, "first")
    for name in NAMES:
        writer.write(name, base().snapshot())
    writer.finish()
    log = tmp_path / "tables" / "partitions" / "_delta_log"
    assert not (log / "_last_checkpoint").exists()
    for n in range(1, 24):
        RunWriter(place_of(tmp_path), DAY + timedelta(days=n), "r", at=time.time()).finish()
    assert (log / "_last_checkpoint").exists()
    assert len([*log.glob("*.checkpoint.parquet")]) >= 2
    # All that was before the checkpoint comes from it alone.
    last = json.loads((log / "_last_checkpoint").read_text())["version"]
    for path in log.glob("*.json"):
        if path.stem.isdigit() and int(path.stem) <= last:
            path.unlink()
    files = StoreTable(place_of(tmp_path), PARTITIONS).files()
    assert sorted(f.clusters for f in files) == sorted((n, n) for n in NAMES)
    assert all(f.rows == 62 and f.size > 0 for f in files)
    assert sorted(newest_run(place_of(tmp_path), DAY).stored()) == sorted(NAMES)
    assert table_in(tmp_path, PARTITIONS).to_pyarrow_table().num_rows == 62 * len(NAMES)
    told = {f.name: f.metadata.get("comment") for f in table_in(tmp_path, PARTITIONS).schema().fields}
    assert told == comments(PARTITIONS)


def test_a_value_that_a_column_must_have_is_never_missing(tmp_path):
    """The schema promises it to every reader."""
    writer = RunWriter(place_of(tmp_path), DAY, "r")
    writer.write("a", base().snapshot())
    writer.finish({"gone": "connection refused"})
    for spec in ALL[:7]:
        table = table_in(tmp_path, spec).to_pyarrow_table()
        for column in spec.columns:
            assert column.null or not table[column.name].null_count, (spec.name, column.name)


def test_times_are_utc(tmp_path):
    at = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
    RunWriter(place_of(tmp_path), DAY, "r", at=at.timestamp()).finish()
    [row] = DeltaTable(str(tmp_path / "tables" / "runs")).to_pyarrow_table().to_pylist()
    assert row["began"] == row["ended"] == at


def test_a_table_whose_schema_is_another_is_not_written(tmp_path):
    """Such as the folder of a table of somebody else: nothing is added to it."""
    foreign = tmp_path / "tables" / "sources"
    DeltaTable.create(str(foreign), pa.schema([("x", pa.int64())]))
    with pytest.raises(KfixError) as refused:
        put(tmp_path, DAY, "r", "one")
    assert str(foreign) in str(refused.value)
    assert DeltaTable(str(foreign)).version() == 0
