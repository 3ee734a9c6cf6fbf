"""Planning reads the whole cluster from ZooKeeper's record, or from the newest metadata of KRaft."""

from __future__ import annotations

from dataclasses import replace

from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.record import record_to_plan_with


def test_both_kinds_of_cluster_give_the_same_record() -> None:
    old, new = (kind.healthy(topics={"orders": 4}).snapshot() for kind in (MemoryCluster, MemoryKraftCluster))
    by_zookeeper, by_quorum = record_to_plan_with(old), record_to_plan_with(new)
    assert by_zookeeper is not None
    assert by_quorum is not None
    assert {b: r.rack for b, r in by_quorum.registrations.items()} == {
        b: r.rack for b, r in by_zookeeper.registrations.items()
    }
    assert dict(by_quorum.assignments) == dict(by_zookeeper.assignments)
    assert {tp: (s.leader, s.isr) for tp, s in by_quorum.states.items()} == {
        tp: (s.leader, s.isr) for tp, s in by_zookeeper.states.items()
    }


def test_where_no_authority_was_read_there_is_nothing_to_plan_with() -> None:
    assert record_to_plan_with(replace(MemoryCluster.healthy().snapshot(), zookeeper=None)) is None
    cluster = MemoryKraftCluster.healthy()
    snapshot = cluster.snapshot()
    cluster.faults.unreadable["quorum"] = "gone"
    assert record_to_plan_with(replace(snapshot, quorum=cluster.snapshot().quorum)) is None
    assert record_to_plan_with(replace(snapshot, reassignments=None)) is None


def test_a_view_of_an_older_moment_does_not_count() -> None:
    snapshot = MemoryKraftCluster.healthy(topics={"orders": 4}).snapshot()
    assert snapshot.quorum is not None
    stale = replace(snapshot.views[1], partitions={}, alive={1: snapshot.addresses[1]})
    quorum = replace(snapshot.quorum, offsets=dict(snapshot.quorum.offsets) | {1: 3})
    record = record_to_plan_with(replace(snapshot, views=dict(snapshot.views) | {1: stale}, quorum=quorum))
    assert record is not None
    assert len(record.assignments) == 4
    assert set(record.registrations) == {1, 2, 3}
