"""Incidents of the members of a group: one does not join again, and the group does not leave its rebalance."""

from __future__ import annotations

from kfix.core.snapshot.group_reading import GroupMember
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.groups import MemoryGroup
from kfix.heal.memory.incidents.prepared import PreparedIncident, requested

GROUP = "payments"


def member(name: str, instance: str = "") -> GroupMember:
    return GroupMember(name, name.rpartition("-")[0], "/10.0.0.7", instance, ())


def rebalance_held(instance: str = "", kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """`slow-1` had all partitions; `new-1` has come, and the coordinator waits for `slow-1` to join again."""
    cluster = kind.healthy()
    group = cluster.joined[GROUP] = MemoryGroup(GROUP)
    group.settle(member("slow-1", instance))
    group.rebalance(member("new-1"))
    return PreparedIncident(cluster, requested("cluster", ()))


def rebalance_held_by_a_static_member() -> PreparedIncident:
    return rebalance_held("worker-7")
