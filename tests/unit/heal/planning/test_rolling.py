"""The order in which nodes are restarted: racks, coordinators, controllers, and the active one at the very end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.reading import NodeRole
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.planning.rolling import others_of, restart_order


def numbers(cluster: MemoryCluster) -> list[int]:
    return [number for _, number in restart_order(cluster.snapshot())]


def test_one_rack_after_another_and_the_controller_at_the_end() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "a", 6: "b"}
    order = numbers(MemoryCluster.healthy(brokers=6, racks=racks))
    assert sorted(order) == [1, 2, 3, 4, 5, 6]
    assert order[-1] == 1
    assert [racks[b] for b in order[:-1]] in (["a", "a", "b", "b", "b"], ["b", "b", "b", "a", "a"])


def test_a_coordinator_moves_to_a_broker_that_was_restarted_already() -> None:
    cluster = MemoryCluster.healthy(brokers=4, topics={}, racks=dict.fromkeys((1, 2, 3, 4), "a"))
    cluster.add_partition(TopicPartition(OFFSETS_TOPIC, 0), (2, 3))
    cluster.add_partition(TopicPartition(OFFSETS_TOPIC, 1), (3, 4))
    # 4 leads none; 3 moves to 4, 2 to 3. The other way round the first one would move three times.
    assert numbers(cluster) == [4, 3, 2, 1]


def test_on_kraft_controllers_come_after_brokers_and_a_combined_node_with_them() -> None:
    cluster = INCIDENTS["restartable-kraft"]().cluster
    assert numbers(cluster)[3:] == [101, 102, 100]
    cluster.controllers = {2: 0, 3: 0, 100: 0}
    order = restart_order(cluster.snapshot())
    assert order == (
        (NodeRole.BROKER, 1),
        (NodeRole.BROKER, 2),
        (NodeRole.BROKER, 3),
        (NodeRole.CONTROLLER, 100),
    )
    assert others_of(order[1], order) == (1, 3)
    assert others_of(order[3], order) == (1, 2, 3)


def test_without_the_record_there_is_no_order() -> None:
    snapshot = MemoryCluster.healthy().snapshot()
    with pytest.raises(UnreachableError, match="there is no order of restarts"):
        restart_order(replace(snapshot, zookeeper=None))
