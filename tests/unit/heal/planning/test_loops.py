"""The items of a loop: for sweep-throttles, throttled brokers and topics that exist."""

from __future__ import annotations

from dataclasses import replace

from kfix.heal.memory.incidents.partitions import left_over_throttles
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.planning.loops import Items
from kfix.heal.runbook.placements import PlacementInput


def test_a_broker_may_report_settings_of_a_deleted_topic_and_nothing_is_planned_for_it() -> None:
    cluster = left_over_throttles(MemoryKraftCluster).cluster
    snapshot = cluster.snapshot()
    assert snapshot.quorum is not None
    throttle = {"leader.replication.throttled.replicas": "0:1"}
    view = replace(snapshot.quorum, topic_settings={"orders": throttle, "deleted": throttle})
    items = Items((), cluster, PlacementInput(replace(snapshot, quorum=view))).of("cluster.throttled", "it")
    assert [item.suffix for item in items] == ["broker-1", "broker-2", "broker-3", "topic-orders"]
