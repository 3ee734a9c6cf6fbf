"""Named incidents on the in-memory cluster where replicas lie wrongly, or are on their way: what reassignments mend."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.naming import PreparedIncident, found, requested
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.reading import ResourceKind
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Severity


def _topic(cluster: MemoryCluster, topic: str) -> tuple[TopicPartition, ...]:
    return tuple(sorted(tp for tp in cluster.records.assignments if tp.topic == topic))


def offsets_with_one_replica() -> PreparedIncident:
    """A2 before it bites: each offsets partition on one broker, everybody alive."""
    cluster = MemoryCluster.healthy(4, topics={OFFSETS_TOPIC: 12}, replication=1, groups={"payments": 42})
    tps = _topic(cluster, OFFSETS_TOPIC)
    return PreparedIncident(cluster, found("KFX303", OFFSETS_TOPIC, tps, severity=Severity.WARNING))


def offsets_with_one_replica_dead() -> PreparedIncident:
    incident = offsets_with_one_replica()
    incident.cluster.kill(3)
    return incident


def offsets_on_two_brokers() -> PreparedIncident:
    cluster = MemoryCluster.healthy(2, topics={OFFSETS_TOPIC: 12}, replication=1)
    return PreparedIncident(
        cluster, found("KFX303", OFFSETS_TOPIC, _topic(cluster, OFFSETS_TOPIC), severity=Severity.WARNING)
    )


def weak_topic() -> PreparedIncident:
    """Two replicas, min.insync.replicas 1, unclean elections allowed."""
    cluster = MemoryCluster.healthy(topics={"orders": 6}, replication=2)
    cluster.records.topic_configs["orders"] = {"unclean.leader.election.enable": "true"}
    return PreparedIncident(cluster, requested("orders", _topic(cluster, "orders")))


def broker_renamed() -> PreparedIncident:
    """A5: broker 2 came back as broker 4, empty; the other replicas lead."""
    cluster = MemoryCluster.healthy(topics={"orders": 6})
    cluster.remove_broker(2)
    cluster.add_broker(4, rack="az2")
    cluster.advance(5)
    return PreparedIncident(cluster, found("KFX105", "broker 2", _topic(cluster, "orders"), facts={"lost": (2,)}))


def broker_renamed_another_down() -> PreparedIncident:
    """As above, and broker 3 is being restarted: it is down, and not gone."""
    incident = broker_renamed()
    incident.cluster.kill(3)
    incident.cluster.advance(1)
    return incident


def stuck_reassignments() -> PreparedIncident:
    """Two moves to broker 4, which died; of one the original replica died too."""
    incident = stuck_reassignment()
    cluster, [safe] = incident.cluster, incident.finding.partitions
    cluster.revive(4)
    unsafe = TopicPartition("orders", 1)
    cluster.add_partition(unsafe, (3,))
    cluster.moves.reassign(unsafe, (1, 4))
    cluster.kill(3)
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX501", "waits for broker 4", (safe, unsafe), severity=Severity.WARNING))


def lax_topic() -> PreparedIncident:
    """As the weak topic, but of three replicas: it only has to be said that they count."""
    cluster = MemoryCluster.healthy(topics={"orders": 6})
    cluster.records.topic_configs["orders"] = {"unclean.leader.election.enable": "true"}
    return PreparedIncident(cluster, requested("orders", _topic(cluster, "orders")))


def one_rack_topic() -> PreparedIncident:
    """Four brokers in two racks; both replicas of each partition lie in rack a."""
    cluster = MemoryCluster.healthy(4, topics={"other": 4}, racks={1: "a", 2: "a", 3: "b", 4: "b"})
    for p in range(4):
        cluster.add_partition(TopicPartition("orders", p), (1, 2) if p % 2 else (2, 1))
    return PreparedIncident(cluster, requested("orders", _topic(cluster, "orders")))


def stuck_reassignment() -> PreparedIncident:
    """A move to broker 4, which died when it began."""
    cluster = MemoryCluster.healthy(4, topics={"other": 4})
    tp = TopicPartition("orders", 0)
    cluster.add_partition(tp, (1, 2))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 4))
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX501", "waits for broker 4", (tp,), severity=Severity.WARNING))


def stuck_reassignment_unsafe() -> PreparedIncident:
    """The original replica, broker 3, died; to cancel would leave no leader and no log."""
    cluster = MemoryCluster.healthy(4, topics={"other": 4})
    tp = TopicPartition("orders", 0)
    cluster.add_partition(tp, (3,))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 4))
    cluster.kill(3)
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX501", "waits for broker 4", (tp,), severity=Severity.WARNING))


def left_over_throttles() -> PreparedIncident:
    cluster = MemoryCluster.healthy(topics={"orders": 6})
    _throttle(cluster)
    return PreparedIncident(cluster, requested("cluster", ()))


def throttled_move() -> PreparedIncident:
    """Somebody else's move is under way, with their throttle on it."""
    incident = left_over_throttles()
    cluster = incident.cluster
    tp = TopicPartition("logs", 0)
    cluster.add_partition(tp, (1, 2))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 3))
    return incident


def _throttle(cluster: MemoryCluster) -> None:
    sides = ("leader", "follower")
    for broker in sorted(cluster.brokers):
        rates: dict[str, str | None] = {f"{side}.replication.throttled.rate": "1000" for side in sides}
        cluster.settings.alter(ResourceKind.BROKER, str(broker), rates)
    lists: dict[str, str | None] = {f"{side}.replication.throttled.replicas": "0:1,1:2" for side in sides}
    cluster.settings.alter(ResourceKind.TOPIC, "orders", lists)


ALL: Mapping[str, Callable[[], PreparedIncident]] = {
    "broker-renamed": broker_renamed,
    "broker-renamed-another-down": broker_renamed_another_down,
    "lax-topic": lax_topic,
    "left-over-throttles": left_over_throttles,
    "offsets-on-two-brokers": offsets_on_two_brokers,
    "offsets-with-one-replica": offsets_with_one_replica,
    "offsets-with-one-replica-dead": offsets_with_one_replica_dead,
    "one-rack-topic": one_rack_topic,
    "stuck-reassignment": stuck_reassignment,
    "stuck-reassignment-unsafe": stuck_reassignment_unsafe,
    "stuck-reassignments": stuck_reassignments,
    "throttled-move": throttled_move,
    "weak-topic": weak_topic,
}
