"""Incidents of leaders and of the ISR, and the healthy cluster they are compared with."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents.prepared import PreparedIncident, found, requested

ORDERS = TopicPartition("orders", 2)


def healthy() -> PreparedIncident:
    """Three brokers; every replica is in sync."""
    cluster = MemoryCluster.healthy()
    return PreparedIncident(cluster, requested("cluster", ()))


def healthy_in_migration() -> PreparedIncident:
    """The same as `healthy`, while the cluster migrates to KRaft."""
    incident = healthy()
    incident.cluster.records.migrating = True
    return incident


def isr_gone() -> PreparedIncident:
    """The ISR had shrunk to broker 1, which died. 2 is preferred over 3 and has fewer records; only 1 had 100-119."""
    cluster = MemoryCluster.healthy(topics={OFFSETS_TOPIC: 50})
    cluster.add_partition(ORDERS, (1, 2, 3))
    cluster.corrupt_state(ORDERS, leader=1, isr=(1,))
    cluster.control.poked(ORDERS)
    cluster.append(ORDERS, 20, (1,))
    cluster.logs.write(ORDERS, 2, LogEnd(0, 60), 0)
    cluster.kill(1)
    return PreparedIncident(cluster, found("KFX103", "ISR on broker 1", (ORDERS,)))


def no_live_replica() -> PreparedIncident:
    """Both replicas of a partition are on dead brokers; the other brokers are alive."""
    cluster = MemoryCluster.healthy(4, topics={OFFSETS_TOPIC: 50}, replication=3)
    cluster.add_partition(ORDERS, (3, 4))
    cluster.kill(3)
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX104", "broker 4", (ORDERS,)))


def under_min_isr(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """min.insync.replicas is 2, and two of three replicas are on dead brokers; the leader is alive."""
    cluster = kind.healthy(topics={OFFSETS_TOPIC: 50})
    tp = TopicPartition("orders", 0)
    cluster.add_partition(tp, (1, 2, 3))
    cluster.records.topic_configs["orders"] = {"min.insync.replicas": "2"}
    cluster.kill(2)
    cluster.kill(3)
    return PreparedIncident(cluster, found("KFX301", "orders", (tp,)))


def leader_skew(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Brokers 2 and 3 were restarted: 1 leads everything, though it is preferred for a third."""
    cluster = kind.healthy(topics={"orders": 6})
    for broker in (2, 3):
        cluster.kill(broker)
    for broker in (2, 3):
        cluster.revive(broker)
    cluster.advance(5)
    return PreparedIncident(cluster, requested("cluster", ()))
