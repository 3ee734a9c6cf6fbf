"""Planning reads the whole cluster from ZooKeeper's record, or from the newest metadata of KRaft."""

from __future__ import annotations

from dataclasses import replace

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.kraft_cluster import MemoryKraftCluster
from kfix.runbook.record import record_of


def test_both_kinds_of_cluster_give_the_same_record() -> None:
    old, new = (kind.healthy(topics={"orders": 4}).snapshot() for kind in (MemoryCluster, MemoryKraftCluster))
    by_zookeeper, by_quorum = record_of(old), record_of(new)
    assert by_zookeeper is not None
    assert by_quorum is not None
    assert by_quorum.racks == by_zookeeper.racks
    assert by_quorum.assignments == by_zookeeper.assignments
    assert by_quorum.states == by_zookeeper.states
    assert by_quorum.topic_configs is None


def test_where_no_authority_was_read_there_is_no_record() -> None:
    assert record_of(replace(MemoryCluster.healthy().snapshot(), zookeeper=None)) is None
    cluster = MemoryKraftCluster.healthy()
    snapshot = cluster.snapshot()
    cluster.faults.unreadable["quorum"] = "gone"
    assert record_of(replace(snapshot, quorum=cluster.snapshot().quorum)) is None
    assert record_of(replace(snapshot, reassignments=None)) is None


def test_a_view_of_an_older_moment_does_not_count() -> None:
    snapshot = MemoryKraftCluster.healthy(topics={"orders": 4}).snapshot()
    assert snapshot.quorum is not None
    stale = replace(snapshot.views[1], partitions={}, alive={1: snapshot.addresses[1]})
    quorum = replace(snapshot.quorum, offsets=dict(snapshot.quorum.offsets) | {1: 3})
    record = record_of(replace(snapshot, views=dict(snapshot.views) | {1: stale}, quorum=quorum))
    assert record is not None
    assert len(record.assignments) == 4
    assert set(record.racks) == {1, 2, 3}
