"""Named incidents on the in-memory cluster where nobody leads, or leads wrongly: what elections and people mend."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.naming import PreparedIncident, found, requested
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.snapshot import LogEnd, TopicPartition
from kfix.model.diagnosis.finding import Severity

#: Where group payments lives.
OFFSETS = TopicPartition(OFFSETS_TOPIC, 13)
ORDERS = TopicPartition("orders", 2)


def phantom_coordinator() -> PreparedIncident:
    """A4: every broker is told that 2 leads; 2 itself was never told."""
    cluster = MemoryCluster.healthy(groups={"payments": 42})
    state = cluster.records.states[OFFSETS]
    other = next(b for b in state.isr if b != state.leader)
    cluster.phantom_leader(OFFSETS, leader=other)
    return PreparedIncident(cluster, found("KFX106", f"coordinator on broker {other}", (OFFSETS,)))


def loading_coordinator() -> PreparedIncident:
    """A4: it answers "loading" for a while, then it works."""
    cluster = MemoryCluster.healthy(groups={"payments": 42})
    leader = cluster.records.states[OFFSETS].leader
    cluster.loading[OFFSETS.partition] = 8
    return PreparedIncident(
        cluster, found("KFX106", f"coordinator on broker {leader}", (OFFSETS,), severity=Severity.WARNING)
    )


def three_brokers() -> PreparedIncident:
    cluster = MemoryCluster.healthy()
    return PreparedIncident(cluster, requested("cluster", ()))


def migrating_cluster() -> PreparedIncident:
    incident = three_brokers()
    incident.cluster.records.migrating = True
    return incident


def isr_gone() -> PreparedIncident:
    """B1: the ISR had shrunk to broker 1, which died. 2 comes first and holds less than 3; 100 to 119 only 1 had."""
    cluster = MemoryCluster.healthy(topics={OFFSETS_TOPIC: 50})
    cluster.add_partition(ORDERS, (1, 2, 3))
    cluster.corrupt_state(ORDERS, leader=1, isr=(1,))
    cluster.control.poked(ORDERS)
    cluster.append(ORDERS, 20, (1,))
    cluster.logs.write(ORDERS, 2, LogEnd(0, 60), 0)
    cluster.kill(1)
    return PreparedIncident(cluster, found("KFX103", "ISR on broker 1", (ORDERS,)))


def no_live_replica() -> PreparedIncident:
    """A2 and B3: both replicas are on dead brokers, the rest of the cluster lives."""
    cluster = MemoryCluster.healthy(4, topics={OFFSETS_TOPIC: 50}, replication=3)
    cluster.add_partition(ORDERS, (3, 4))
    cluster.kill(3)
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX104", "broker 4", (ORDERS,)))


def under_min_isr() -> PreparedIncident:
    """B2: min.insync.replicas 2, two of three replicas are on dead brokers; the leader lives."""
    cluster = MemoryCluster.healthy(topics={OFFSETS_TOPIC: 50})
    cluster.add_partition(ORDERS, (1, 2, 3))
    cluster.records.topic_configs["orders"] = {"min.insync.replicas": "2"}
    cluster.kill(2)
    cluster.kill(3)
    return PreparedIncident(cluster, found("KFX301", "orders", (ORDERS,)))


def leader_skew() -> PreparedIncident:
    """Brokers 2 and 3 were restarted: 1 leads everything, though it is preferred for a third."""
    cluster = MemoryCluster.healthy(topics={"orders": 6})
    for broker in (2, 3):
        cluster.kill(broker)
    for broker in (2, 3):
        cluster.revive(broker)
    cluster.advance(5)
    return PreparedIncident(cluster, requested("cluster", ()))


ALL: Mapping[str, Callable[[], PreparedIncident]] = {
    "isr-gone": isr_gone,
    "leader-skew": leader_skew,
    "loading-coordinator": loading_coordinator,
    "migrating-cluster": migrating_cluster,
    "no-live-replica": no_live_replica,
    "phantom-coordinator": phantom_coordinator,
    "three-brokers": three_brokers,
    "under-min-isr": under_min_isr,
}
