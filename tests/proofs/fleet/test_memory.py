"""What the audit remembers: unread clusters, partial audits, unreported findings; and damaged audits."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from shutil import copytree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.core.errors import HeldError
from kfix.core.inventory.model import Inventory, MaintenanceWindow, Mute
from kfix.core.snapshot.snapshot import Source
from kfix.fleet.audit.reading import find_audit, history
from kfix.fleet.audit.tables import tables
from kfix.fleet.embedded import EmbeddedEngine
from kfix.fleet.report.totals import has_news, news
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.tables import AUDITS, CLUSTERS, FINDINGS
from kfix.fleet.synthetic import snapshot_of
from kfix.fleet.wiring import locked
from tests.unit.fleet.audit_runs import AT, again, audited, cluster, day_of, entry, reported, statuses

LAGS = "KFX401:broker 6"


@pytest.fixture
def engine():
    return EmbeddedEngine(1)


def blind(root, engine, one, number):
    """An audit run in which ZooKeeper of that cluster did not answer."""
    seen = replace(
        snapshot_of(one),
        zookeeper=None,
        sources=(Source("zookeeper zk.a:2181", ok=False, seconds=1.0, error="no answer in time"),),
    )
    writer = RunWriter(place_of(root), day_of(number), "n", at=AT + 86_400 * number)
    writer.write(one.name, seen)
    writer.finish()
    return reported(root, again(root, engine, number=number), engine)


def test_what_vanishes_with_a_source_is_unknown_and_not_fixed(tmp_path, engine):
    sick = [cluster("a", number, sick=0.05, seed=3) for number in range(4)]
    first = reported(tmp_path, audited(tmp_path, [sick[0]], engine), engine)
    lost = set(statuses(first, "KFX201"))
    assert lost, "the cluster diverges from ZooKeeper"
    for number in (1, 2):
        seen = blind(tmp_path, engine, sick[number], number)
        assert {statuses(seen)[k] for k in lost} == {"unknown"}, "in the second blind audit too"
        assert seen.clusters[0].score < 100
    back = reported(tmp_path, audited(tmp_path, [replace(sick[0], day_number=3)], engine, number=3), engine)
    assert {statuses(back)[k] for k in lost if k in statuses(back)} <= {"still", "worse", "fixed"}
    assert all(f.since == day_of(0) for f in back.findings if (f.cluster, f.key) in lost)


def test_an_audit_of_a_part_is_no_gap_for_the_rest(tmp_path, engine):
    audited(tmp_path, [cluster("a", dead=1), cluster("b", dead=1)], engine)
    audited(tmp_path, [cluster("a", 1, dead=1)], engine, number=1)
    whole = reported(tmp_path, audited(tmp_path, [cluster("a", 2, dead=1), cluster("b", 2)], engine, number=2), engine)
    seen = {(f.cluster, f.key): (f.status, f.since) for f in whole.findings}
    assert seen[("a", LAGS)] == ("still", day_of(0))
    assert seen[("b", LAGS)] == ("fixed", day_of(0))


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


def test_what_began_in_maintenance_is_news_when_it_is_over(tmp_path, engine):
    window = MaintenanceWindow("patching", weekdays=frozenset({0, 1}), at=60, minutes=180)  # Monday and Tuesday
    inventory = Inventory({"a": entry("a", windows=(window,))})
    seen = []
    for number, dead in enumerate((0, 1, 1, 1)):
        one = cluster("a", number, dead=dead)
        report = reported(tmp_path, audited(tmp_path, [one], engine, number=number, inventory=inventory), engine)
        seen.append((statuses(report).get(("a", LAGS)), has_news(report)))
    assert seen[1:] == [("new", False), ("new", True), ("still", False)]
    assert next(f for f in report.findings if f.key == LAGS).since == day_of(1)


def test_what_was_muted_is_news_when_the_mute_ends(tmp_path, engine):
    mute = Mute(("a",), ("KFX*",), "being moved", day_of(1))
    inventory = Inventory({"a": entry("a")}, (mute,))
    seen = []
    for number in range(4):
        one = cluster("a", number, dead=1)
        report = reported(tmp_path, audited(tmp_path, [one], engine, number=number, inventory=inventory), engine)
        seen.append((statuses(report)[("a", LAGS)], bool(news(report))))
    assert seen == [("new", False), ("still", False), ("new", True), ("still", False)]


@pytest.mark.parametrize("findings", [("KFX1*", "KFX2*", "KFX3*", "KFX4*", "KFX5*"), ("KFX401",)], ids=["all", "head"])
def test_partitions_of_muted_findings_are_not_reported_as_stuck(tmp_path, engine, findings):
    """The mute of a dead broker covers what lacks its replicas: those findings are explained by it."""
    mute = Mute(("a",), findings, "known", day_of(9))
    inventory = Inventory({"a": entry("a")}, (mute,))
    for number in (0, 1):
        one = cluster("a", number, dead=1)
        report = reported(tmp_path, audited(tmp_path, [one], engine, number=number, inventory=inventory), engine)
    assert not statuses(report, "KFX702")


def damage(kind, found):
    """Damages the row of an audit, or the files of its findings and score cards. Returns the paths."""
    rows = {spec: path_in(found, spec) for spec in (AUDITS, FINDINGS, CLUSTERS)}
    row = rows.pop(AUDITS)
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
    for file, column in zip(rows.values(), ("since", "score"), strict=True):
        if kind == "gone":
            file.unlink()
        elif kind == "truncated":
            file.write_bytes(file.read_bytes()[:100])
        else:
            pq.write_table(pq.read_table(file, partitioning=None).drop_columns([column]), file)
    return [*rows.values()]


def path_in(found, spec):
    [file] = StoreTable(found.root, spec).files(lambda day, run: (day, run) == found.key)
    return Path(file.place.path)


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


def test_days_go_on_while_it_is_unread(tmp_path, engine):
    audited(tmp_path, [cluster("a", dead=1)], engine)
    audited(tmp_path, [], engine, number=1, failed={"a": "no answer"})
    back = reported(tmp_path, audited(tmp_path, [cluster("a", 2, dead=1)], engine, number=2), engine)
    row = next(f for f in back.findings if f.key == LAGS)
    assert (row.status, row.days, row.since) == ("still", 2, back.day - timedelta(days=2))
