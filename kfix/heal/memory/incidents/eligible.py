"""Incidents that only KRaft has: a partition without a leader, whose eligible leader replicas matter."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.configs import UNCLEAN
from kfix.heal.memory.incidents.prepared import PreparedIncident, found
from kfix.heal.memory.kraft_cluster import MemoryKraftCluster

ORDERS = TopicPartition("orders", 2)
OFFSETS = TopicPartition(OFFSETS_TOPIC, 13)


def eligible_waits() -> PreparedIncident:
    """Broker 3 left first, then 2, then 1; 3 is back, which has the fewest records. Only 1 had 120 to 139."""
    cluster = MemoryKraftCluster.healthy(topics={OFFSETS_TOPIC: 0})
    cluster.settings.properties["min.insync.replicas"] = "2"
    cluster.add_partition(ORDERS, (3, 2, 1))
    cluster.shut_down(3)
    cluster.append(ORDERS, 20, (1, 2))
    cluster.kill(2)
    cluster.append(ORDERS, 20, (1,))
    cluster.kill(1)
    cluster.revive(3)
    return PreparedIncident(cluster, found("KFX119", "eligible brokers 1, 2", (ORDERS,)))


def eligible_waits_unclean_allowed() -> PreparedIncident:
    """The same as `eligible_waits`, with unclean elections allowed on the topic."""
    incident = eligible_waits()
    incident.cluster.changer.alter_configs(ResourceKind.TOPIC, "orders", {UNCLEAN: "true"})
    return incident


def eligible_waits_last_leader_back() -> PreparedIncident:
    """The same as `eligible_waits`, and broker 1 is back, which is no longer eligible; 2 still is, and is dead."""
    incident = eligible_waits()
    incident.cluster.revive(1)
    return incident


def eligible_waits_quorum_lost() -> PreparedIncident:
    """The same as `eligible_waits`, and no controller answers."""
    incident = eligible_waits()
    incident.cluster.faults.unreadable["quorum"] = "no active controller answers"
    return incident


def eligible_forgotten() -> PreparedIncident:
    """The same as `eligible_waits`, and min.insync.replicas was set since: no replica is eligible any more."""
    incident = eligible_waits()
    cluster = incident.cluster
    cluster.changer.alter_configs(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "1"})
    return PreparedIncident(cluster, found("KFX103", "empty ISR", (ORDERS,)))


def coordinator_silent() -> PreparedIncident:
    """The leader of an offsets partition gave it up and answers NOT_COORDINATOR for it."""
    cluster = MemoryKraftCluster.healthy(groups={"payments": 42})
    leader = cluster.records.states[OFFSETS].leader
    cluster.brokers[leader].leading.pop(OFFSETS)
    return PreparedIncident(cluster, found("KFX106", f"broker {leader}", (OFFSETS,)))
