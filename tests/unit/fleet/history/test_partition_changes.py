"""What an audit records of partitions: only what differs, and a file that is damaged costs its own cluster only."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from kfix.core.snapshot.quorum import EligibleLeaders, QuorumView
from kfix.core.snapshot.snapshot import Mode
from kfix.fleet.audit import judged
from kfix.fleet.collect.ingesting import observed
from kfix.fleet.demo.synthetic import snapshot_of
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.history.changes import changes
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from kfix.fleet.store.tables import PARTITIONS
from kfix.fleet.upkeep import delete_old, find_old
from tests.unit.fleet.audit_runs import audited, cluster, day_of


@pytest.fixture
def engine():
    return EmbeddedEngine(1)


def rows_of(root, number):
    rows = DeltaTable(str(root / "tables" / "partition_changes")).to_pyarrow_table().to_pylist()
    return [row for row in rows if row["day"] == day_of(number)]


def whys(root, number):
    return {(row["cluster"], row["why"]) for row in rows_of(root, number)}


def test_a_quiet_night_adds_nothing(tmp_path, engine):
    for number in range(3):
        audited(tmp_path, [cluster("a", number), cluster("b", number)], engine, number=number)
    assert [len(rows_of(tmp_path, number)) for number in range(3)] == [600, 0, 0]
    assert whys(tmp_path, 0) == {("a", "first"), ("b", "first")}


def test_a_damaged_file_costs_only_its_own_cluster_the_changes(tmp_path, engine):
    audited(tmp_path, [cluster("a"), cluster("b")], engine)
    [file] = [f for f in StoreTable(place_of(tmp_path), PARTITIONS).files() if f.clusters == ("a", "a")]
    Path(file.place.path).write_bytes(Path(file.place.path).read_bytes()[:200])
    found = audited(tmp_path, [cluster("a", 1, deaths=1), cluster("b", 1, deaths=1)], engine, number=1)
    assert {name for name, _ in whys(tmp_path, 1)} == {"b"}
    [line] = found.manifest["damaged"]
    assert "the changes of a were not recorded" in line
    assert file.place.path in line


def test_where_the_snapshot_before_is_gone_all_states_are_recorded_again(tmp_path, engine):
    audited(tmp_path, [cluster("a")], engine)
    audited(tmp_path, [cluster("b", 1)], engine, number=1)
    delete_old(place_of(tmp_path), find_old(place_of(tmp_path), day_of(2), 1, 90))
    audited(tmp_path, [cluster("a", 2), cluster("b", 2)], engine, number=2)
    assert whys(tmp_path, 2) == {("a", "seen")}


class Dying(judged.JudgeClusters):
    def __call__(self, part):
        if any(each.cluster == "b" for each in part):
            os._exit(1)
        return judged.JudgeClusters.__call__(self, part)


def test_a_cluster_that_ends_its_process_is_named_and_the_others_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(judged, "JudgeClusters", Dying)
    monkeypatch.setattr(judged, "_ROWS_A_TASK", 600)
    monkeypatch.setattr(judged, "_MOST_TASKS", 9)
    found = audited(tmp_path, [cluster(name) for name in "abcd"], EmbeddedEngine(2))
    assert whys(tmp_path, 0) == {(name, "first") for name in "acd"}
    assert any("the changes of b were not recorded: its process died" in line for line in found.manifest["damaged"])
    assert "cannot be judged: its process died" in found.manifest["not_read"]["b"]
    assert [*found.manifest["not_read"]] == ["b"]


def without_zookeeper(leader):
    """A cluster on KRaft whose first partition has this leader; -2: no broker knows the partition."""
    found = snapshot_of(cluster("a", partitions=6))
    tp = min(found.zookeeper.states)
    views = {
        broker: replace(
            view,
            partitions={
                each: p if each != tp else p._replace(leader=leader, isr=() if leader == -1 else p.isr)
                for each, p in view.partitions.items()
                if each != tp or leader != -2
            },
        )
        for broker, view in found.views.items()
    }
    at = replace(found.cluster, mode=Mode.KRAFT, zookeeper="")
    quorum = replace(QuorumView(), eligible={tp: EligibleLeaders((2, 3), ())})
    return replace(found, cluster=at, zookeeper=None, views=views, quorum=quorum)


def test_a_partition_without_a_leader_has_its_eligible_replicas():
    before, now = (observed(without_zookeeper(leader), at) for leader, at in ((1, 1000), (-1, 2000)))
    [row] = changes("a", before, now).rows.to_pylist()
    assert (row["why"], row["leader"], row["leader_before"], row["isr"], row["elr"]) == ("leader", -1, 1, [], [2, 3])
    assert (row["valid_from_after"].timestamp(), row["valid_from"].timestamp()) == (1.0, 2.0)


def test_a_clock_that_was_set_back_leaves_the_beginning_unknown():
    before, now = (observed(without_zookeeper(leader), at) for leader, at in ((1, 9000), (2, 2000)))
    [row] = changes("a", before, now).rows.to_pylist()
    assert (row["why"], row["valid_from_after"], row["valid_from"].timestamp()) == ("leader", None, 2.0)
