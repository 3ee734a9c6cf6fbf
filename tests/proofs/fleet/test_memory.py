"""What the audit remembers: unread clusters, partial audits, unreported findings; and damaged audits."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.core.errors import HeldError
from kfix.fleet.audit.reading import find_audit, history
from kfix.fleet.demo.synthetic import snapshot_of
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.storelock import locked
from kfix.fleet.store.tables import AUDITS, CLUSTERS, FINDINGS
from tests.unit.fleet.audit_runs import AT, again, cluster, day_of, reported, statuses
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited

LAGS = "KFX401:broker 6"


@pytest.fixture
def engine():
    return EmbeddedEngine(1)


def test_a_trend_has_the_audit_of_most_clusters_of_a_day(tmp_path, engine):
    audited(tmp_path, [cluster("a"), cluster("b")], engine, run="run")
    audited(tmp_path, [cluster("a")], engine, run="part-at-noon")
    last = audited(tmp_path, [cluster("a", 1), cluster("b", 1)], engine, number=1)
    assert [a.id for a in history(place_of(tmp_path), last)] == ["run", "n"]


def test_an_id_is_remembered_while_the_cluster_is_unread(tmp_path, engine):
    one = cluster("a")
    audited(tmp_path, [one], engine)
    audited(tmp_path, [], engine, number=1, failed={"a": "no answer"})
    writer = RunWriter(place_of(tmp_path), day_of(2), "n", at=AT + 2 * 86_400)
    seen = snapshot_of(replace(one, day_number=2))
    writer.write("a", replace(seen, cluster=replace(seen.cluster, id="another")))
    writer.finish()
    assert statuses(reported(tmp_path, again(tmp_path, engine, number=2), engine), "KFX704")


def damage(kind, found):
    """Damages the row of an audit, or the files of its findings and score cards. Returns the paths."""
    [row] = paths_in(found, AUDITS)
    rows = [
        (file, column) for spec, column in ((FINDINGS, "since"), (CLUSTERS, "score")) for file in paths_in(found, spec)
    ]
    if kind in {"manifest", "odd manifest", "files of another attempt"}:
        table = pq.read_table(row, partitioning=None)
        manifest = json.loads(table["manifest"][0].as_py())
        changes = {
            "odd manifest": {"mutes": [{}]},
            "files of another attempt": {"files": {"findings": [], "clusters": []}},
        }
        text = "{" if kind == "manifest" else json.dumps(manifest | changes[kind])
        at = table.schema.get_field_index("manifest")
        pq.write_table(table.set_column(at, "manifest", pa.array([text])), row)
        return [row]
    if kind in {"row is gone", "row is truncated"}:
        row.unlink() if "gone" in kind else row.write_bytes(row.read_bytes()[:100])
        return [row]
    for file, column in rows:
        if kind == "gone":
            file.unlink()
        elif kind == "truncated":
            file.write_bytes(file.read_bytes()[:100])
        else:
            pq.write_table(pq.read_table(file, partitioning=None).drop_columns([column]), file)
    return [file for file, _ in rows]


def paths_in(found, spec):
    """The files of an audit in a table; each task wrote its own findings."""
    files = StoreTable(found.root, spec).files(lambda day, run: (day, run) == found.key)
    return [Path(file.place.path) for file in files]


DAMAGE = (
    "manifest",
    "odd manifest",
    "files of another attempt",
    "row is gone",
    "row is truncated",
    "gone",
    "truncated",
    "no column",
)


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("which", [0, 1])
def test_a_damaged_audit_is_skipped_and_named_and_the_next_one_runs(tmp_path, engine, kind, which):
    runs = [audited(tmp_path, [cluster("a", number, dead=1)], engine, number=number) for number in range(2)]
    paths = damage(kind, runs[which])
    report = reported(tmp_path, audited(tmp_path, [cluster("a", 2, dead=1)], engine, number=2), engine)
    assert report.previous_day == day_of(1 - which)
    assert statuses(report)[("a", LAGS)] == "still"
    assert [p.day for p in report.trend] == [day_of(1 - which), day_of(2)]
    named = [str(path) for path in paths] if "attempt" not in kind else [f"the audit 'n' of {day_of(which)}"]
    assert any(name in line for line in report.damaged for name in named)
    assert all("\n" not in line for line in report.damaged)
    assert find_audit(place_of(tmp_path)).day == day_of(2)


def test_foreign_files_and_folders_do_not_count(tmp_path, engine):
    found = audited(tmp_path, [cluster("a")], engine)
    before = reported(tmp_path, found, engine)
    for name in ("audits", "runs", "findings", "clusters", "partitions"):
        table = tmp_path / "tables" / name
        # A copy of a run, made by hand, of which no commit knows.
        copytree(table / f"day={day_of(0)}", table / f"day={day_of(9)}")
        (table / "day=bogus").mkdir()
        (table / f"day={day_of(0)}" / "run=n" / "note.parquet").write_text("mine")
    (tmp_path / "tables" / "mine").mkdir()
    (tmp_path / "staging" / "date=bogus" / "run=x").mkdir(parents=True)
    assert find_audit(place_of(tmp_path)) == found
    assert newest_run(place_of(tmp_path)).day == day_of(0)
    assert reported(tmp_path, found, engine) == before
    asked = engine.query("SELECT DISTINCT day FROM findings", tables(place_of(tmp_path), days=30)).to_pylist()
    assert asked == [{"day": day_of(0)}]


def test_a_store_below_a_folder_named_like_one_of_a_store(tmp_path, engine):
    root = tmp_path / "date=2020-01-01" / "run=zz" / "partitions"
    audited(root, [cluster("a/b"), cluster("c")], engine)
    sql = "SELECT DISTINCT cluster, day, run FROM partitions ORDER BY cluster"
    rows = engine.query(sql, tables(place_of(root), days=1)).to_pylist()
    assert rows == [{"cluster": name, "day": day_of(0), "run": "n"} for name in ("a/b", "c")]


def test_a_lock_holds_whatever_the_store_is_called(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "store").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with locked(str(tmp_path / "store")):
        for other in ("link", "store/", "store/../store"):
            with pytest.raises(HeldError, match="another audit is running"), locked(str(tmp_path / other)):
                pass
    with locked(str(tmp_path / "link")):
        pass
