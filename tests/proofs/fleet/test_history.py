"""What an audit says against the one before, and what stays when it is repeated."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import Mode
from kfix.fleet.audit.reading import find_audit, history
from kfix.fleet.demo.synthetic import snapshot_of
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.tables import ALL, AUDITED
from tests.unit.fleet import audit_runs
from tests.unit.fleet.audit_runs import AT, again, cluster, day_of, reported, statuses
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited

LAGS = "KFX401:broker 6"


@pytest.fixture
def engine():
    return EmbeddedEngine(1)


def files_of(root: Path):
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_a_cluster_that_left_the_fleet_leaves_the_report(tmp_path, engine):
    audited(tmp_path, [cluster("a", dead=1), cluster("b")], engine)
    after = reported(tmp_path, audited(tmp_path, [cluster("b", 1)], engine, number=1), engine)
    assert {c.cluster for c in after.clusters} == {f.cluster for f in after.findings} == {"b"}


def test_an_audit_repeated_replaces_its_own_tables_and_nothing_else(tmp_path, engine):
    for number in range(3):
        audit_runs.audited(tmp_path, [cluster("a", number, dead=number % 2)], engine, number=number)
    before, runs = files_of(tmp_path), nights_of(tmp_path)
    first = reported(tmp_path, find_audit(place_of(tmp_path), day=day_of(1)), engine)
    second = reported(tmp_path, again(tmp_path, engine, number=1), engine)
    after = files_of(tmp_path)
    # No file is changed: the new ones are of that run, and of the logs of its tables.
    assert {n: after[n] for n in before} == before
    mine = [f"tables/{spec.name}/day={day_of(1)}/" for spec in AUDITED]
    counts = [sum(n.startswith(folder) for n in before) for folder in mine]
    new = [n for n in after if n not in before and "_delta_log" not in n]
    assert [sum(n.startswith(folder) for n in new) for folder in mine] == counts
    assert len(new) == sum(counts) >= len(AUDITED)
    logs = [n for n in after if n not in before and "_delta_log" in n]
    assert sorted(n.split("/")[1] for n in logs) == sorted(spec.name for spec in AUDITED)
    assert nights_of(tmp_path) == runs
    # The files of the attempt before stay for whoever has just opened the table, and go when the store is cleaned.
    assert [StoreTable(place_of(tmp_path), spec).clean(24) for spec in AUDITED] == [0] * len(AUDITED)
    assert [StoreTable(place_of(tmp_path), spec).clean(0) for spec in AUDITED] == counts
    assert reported(tmp_path, find_audit(place_of(tmp_path), day=day_of(1)), engine).findings == second.findings
    assert second.findings == first.findings
    # The time that a cluster took is another each time.
    assert [replace(c, seconds=0) for c in second.clusters] == [replace(c, seconds=0) for c in first.clusters]


def nights_of(root):
    """{table: {run: rows}}, as a reader without kfix counts them; tables of facts are made once there is a fact."""
    found = {}
    for spec in (each for each in ALL if (root / "tables" / each.name).exists()):
        rows = DeltaTable(str(root / "tables" / spec.name)).to_pyarrow_table(columns=["day", "run"]).to_pylist()
        found[spec.name] = Counter((r["day"], r["run"]) for r in rows)
    return found


def test_two_runs_a_day_are_compared_with_each_other(tmp_path, engine):
    audited(tmp_path, [cluster("a")], engine, run="one")
    later = reported(tmp_path, audited(tmp_path, [cluster("a", dead=1)], engine, run="two"), engine)
    assert (later.previous_run, statuses(later)[("a", LAGS)]) == ("one", "new")
    assert [(p.day, p.run) for p in later.trend] == [(day_of(0), "two")]


def test_the_trend_has_the_last_audit_of_each_day(tmp_path, engine):
    for number in range(4):
        found = audited(
            tmp_path, [cluster("a", number, dead=int(number > 1)), cluster("b", number)], engine, number=number
        )
    report = reported(tmp_path, found, engine)
    assert [p.day for p in report.trend] == [day_of(n) for n in range(4)]
    assert [(p.clusters, p.collected) for p in report.trend] == [(2, 2)] * 4
    a, b = report.cluster_trends
    assert (a.cluster, b.cluster, a.days, len(set(b.scores))) == ("a", "b", tuple(day_of(n) for n in range(4)), 1)
    assert a.scores[3] < a.scores[0]
    assert [x.day for x in history(place_of(tmp_path), found, 2)] == [day_of(2), day_of(3)]


def test_partitions_in_the_same_trouble_as_in_the_previous_audit_are_reported(tmp_path, engine):
    audited(tmp_path, [cluster("a", dead=1), cluster("b")], engine)
    report = reported(tmp_path, audited(tmp_path, [cluster("a", 1, dead=1), cluster("b", 1)], engine, number=1), engine)
    [stuck] = [f for f in report.findings if f.code == "KFX702"]
    lagging = {p for f in report.findings if f.code.startswith("KFX30") for p in f.partitions}
    assert (stuck.cluster, stuck.n_partitions > 0) == ("a", True)
    assert set(stuck.partitions) <= lagging


def test_an_audit_that_is_not_there_is_one_line(tmp_path, engine):
    with pytest.raises(UsageError, match="no audit"):
        find_audit(place_of(tmp_path))
    audited(tmp_path, [cluster("a")], engine)
    with pytest.raises(UsageError, match="no audit of run 'x'"):
        find_audit(place_of(tmp_path), "x")
    with pytest.raises(UsageError, match="no audit of 2026-03-03"):
        find_audit(place_of(tmp_path), day=day_of(0) + timedelta(days=1))


def changes_of(root, number):
    """Returns {(subject, object, kind): (before, after, times)} of the audit of a day."""
    rows = DeltaTable(str(root / "tables" / "transitions")).to_pyarrow_table().to_pylist()
    found = {
        (r["subject"], r["object"], r["kind"]): (r["before"], r["after"], r["times"])
        for r in rows
        if r["day"] == day_of(number)
    }
    states = DeltaTable(str(root / "tables" / "partition_changes")).to_pyarrow_table().to_pylist()
    return found | {key: each for r in states if r["day"] == day_of(number) for key, each in kinds_of(r)}


def kinds_of(row):
    """Yields what changed in a partition, counted by the columns of one row of `partition_changes`."""
    name = f"{row['topic']}-{row['partition']}"
    if row["why"] in {"first", "seen", "created", "recreated", "deleted"}:
        return
    times = {kind: int(row[kind] != row[f"{kind}_before"]) for kind in ("leader", "replicas")}
    times["isr"] = int(sorted(row["isr"]) != sorted(row["isr_before"]))
    if row["version"] is not None:
        writes = row["version"] - row["version_before"] - (row["epoch"] - row["epoch_before"])
        times["isr"] = writes if writes > 0 else times["isr"]
    for kind, n in times.items():
        if n:
            yield ("partition", name, kind), (row[f"{kind}_before"], row[kind], n)


def test_a_topic_that_was_created_again_is_one_change_and_none_of_its_partitions(tmp_path, engine):
    first, then = (snapshot_of(cluster("a", number, partitions=30)) for number in (0, 1))
    topic = next(iter(first.zookeeper.topics_created))
    states = {
        tp: s._replace(
            leader=s.isr[-1], isr=s.isr[:1], version=s.version + 3, leader_epoch=s.leader_epoch + 1, mzxid=9000
        )
        if tp.topic == topic
        else s
        for tp, s in then.zookeeper.states.items()
    }
    created = {**then.zookeeper.topics_created, topic: 8000}
    then = replace(then, zookeeper=replace(then.zookeeper, states=states, topics_created=created))
    audited(tmp_path, [], engine, snapshots={"a": first})
    audited(tmp_path, [], engine, number=1, snapshots={"a": then})
    size = str(sum(tp.topic == topic for tp in states))
    assert changes_of(tmp_path, 1) == {("topic", topic, "recreated"): (size, size, 1)}


def of_kraft(number, ids=None, **more):
    """Returns a cluster on KRaft whose partitions have other leaders in newer epochs on each day."""
    found = snapshot_of(cluster("a", number, partitions=30, **more))
    views = {
        broker: replace(
            view,
            partitions={
                tp: p._replace(leader=p.isr[-number % len(p.isr)], leader_epoch=p.leader_epoch + number)
                for tp, p in view.partitions.items()
            },
        )
        for broker, view in found.views.items()
    }
    topics = {tp.topic for tp in found.zookeeper.states}
    ids = dict.fromkeys(topics, "first") | (ids or {})
    at = replace(found.cluster, mode=Mode.KRAFT, zookeeper="")
    return replace(found, cluster=at, zookeeper=None, views=views, topic_ids=ids), sorted(topics)


def test_on_kraft_a_topic_with_another_id_is_one_change_and_none_of_its_partitions(tmp_path, engine):
    first, (topic, *others) = of_kraft(0)
    audited(tmp_path, [], engine, snapshots={"a": first})
    audited(tmp_path, [], engine, number=1, snapshots={"a": of_kraft(1, {topic: "second"})[0]})
    found = changes_of(tmp_path, 1)
    size = str(sum(tp.topic == topic for tp in next(iter(first.views.values())).partitions))
    assert found.pop(("topic", topic, "recreated")) == (size, size, 1)
    assert {name.rpartition("-")[0] for _, name, _ in found} == {*others}
    assert {kind for *_, kind in found} == {"leader"}


def test_what_is_found_of_a_topic_that_was_created_again_begins_anew(tmp_path, engine):
    """Lagging replicas, and partitions that are stuck since the previous audit."""
    for number, topic_id in enumerate(("first", "first", "second")):
        snapshot, topics = of_kraft(number, dead=1)
        snapshot = replace(snapshot, topic_ids=dict.fromkeys(topics, topic_id))
        found = audited(tmp_path, [], engine, number=number, snapshots={"a": snapshot})
    before, after = (
        reported(tmp_path, each, engine) for each in (find_audit(place_of(tmp_path), day=day_of(1)), found)
    )
    assert {f.since for f in before.findings if f.code == "KFX302"} == {day_of(0)}
    lags = {(f.status, f.since) for f in after.findings if f.code == "KFX302"}
    assert lags == {("new", day_of(2))}
    assert [f.status for report in (before, after) for f in report.findings if f.code == "KFX702"] == ["new", "fixed"]
    began = [e.began.date() for e in after.history.episodes if e.code == "KFX302"]
    assert sorted(began) == [day_of(0), day_of(2)]


def test_a_cluster_with_another_name_has_one_history_under_its_name_of_today(tmp_path, engine):
    """Renamed twice, and its first name is given to another cluster later."""
    names = ("a", "b", "c", "c")
    for number, name in enumerate(names):
        one = replace(snapshot_of(cluster("a", number, dead=1, deaths=number)), taken_at=AT + 86_400 * number)
        other = {"a": snapshot_of(cluster("other", number, dead=1))} if number == 3 else {}
        found = audited(tmp_path, [], engine, number=number, snapshots={name: one, **other})
    report = reported(tmp_path, found, engine)
    assert {t.cluster: t.days for t in report.cluster_trends} == {
        "c": tuple(map(day_of, range(4))),
        "a": (day_of(3),),
    }
    assert {f.since for f in report.findings if f.code == "KFX302"} == {day_of(0), day_of(3)}
    episodes = {(e.cluster, e.began.date()): (e.state, e.audits) for e in report.history.episodes if e.code == "KFX302"}
    assert episodes == {("c", day_of(0)): ("open", 4), ("a", day_of(3)): ("open", 1)}
    assert not report.history.left
    assert "KFX704" not in {f.code for f in report.findings}
    assert {kind for *_, kind in changes_of(tmp_path, 2)} == {"isr"}
    shown = tables(place_of(tmp_path), days=30, snapshots=9)
    for table in ("findings", "clusters", "snapshots", "partitions"):
        rows = engine.query(f"SELECT cluster, day FROM {table} GROUP BY cluster, day ORDER BY day, cluster", shown)
        assert rows.to_pydict() == {
            "cluster": ["c", "c", "c", "a", "c"],
            "day": [day_of(n) for n in (0, 1, 2, 3, 3)],
        }


def test_two_names_of_one_cluster_are_no_other_name(tmp_path, engine):
    one = snapshot_of(cluster("a"))
    audited(tmp_path, [], engine, snapshots={"a": one})
    found = audited(tmp_path, [], engine, number=1, snapshots={"a": one, "b": one})
    assert found.manifest["renamed"] == []
    assert len([f for f in reported(tmp_path, found, engine).findings if f.code == "KFX704"]) == 2


def test_every_election_of_a_controller_counts_and_a_new_epoch_is_no_new_leader(tmp_path, engine):
    first, then = (snapshot_of(cluster("a", number, partitions=30)) for number in (0, 1))
    at = then.zookeeper.controller
    states = {
        tp: s._replace(isr=s.isr[:-1], version=s.version + 1, leader_epoch=s.leader_epoch + 1, mzxid=9000)
        for tp, s in then.zookeeper.states.items()
    }
    then = replace(then, zookeeper=replace(then.zookeeper, states=states, controller=replace(at, epoch=at.epoch + 4)))
    audited(tmp_path, [], engine, snapshots={"a": first})
    audited(tmp_path, [], engine, number=1, snapshots={"a": then})
    found = changes_of(tmp_path, 1)
    assert found.pop(("cluster", "a", "controller")) == (str(at.broker), str(at.broker), 4)
    assert {(kind, times) for (_, _, kind), (_, _, times) in found.items()} == {("isr", 1)}
    assert len(found) == 30
