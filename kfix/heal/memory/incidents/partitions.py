"""Incidents of leaders, replicas and the ISR, and the healthy cluster they are compared with."""

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import UNCLEAN
from kfix.heal.memory.incidents.prepared import PreparedIncident, found, requested
from kfix.heal.memory.kraft import MemoryKraftCluster

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


def coordinator_silent_kraft() -> PreparedIncident:
    """The leader of an offsets partition gave it up and answers NOT_COORDINATOR for it."""
    cluster = MemoryKraftCluster.healthy(groups={"payments": 42})
    leader = cluster.records.states[OFFSETS].leader
    cluster.brokers[leader].leading.pop(OFFSETS)
    return PreparedIncident(cluster, found("KFX106", f"broker {leader}", (OFFSETS,)))


def _topic(cluster: MemoryCluster, topic: str) -> tuple[TopicPartition, ...]:
    return tuple(sorted(tp for tp in cluster.records.assignments if tp.topic == topic))


def _throttle(cluster: MemoryCluster) -> None:
    sides = ("leader", "follower")
    for broker in sorted(cluster.brokers):
        rates: dict[str, str | None] = {f"{side}.replication.throttled.rate": "1000" for side in sides}
        cluster.settings.alter(ResourceKind.BROKER, str(broker), rates)
    lists: dict[str, str | None] = {f"{side}.replication.throttled.replicas": "0:1,1:2" for side in sides}
    cluster.settings.alter(ResourceKind.TOPIC, "orders", lists)


def offsets_rf1() -> PreparedIncident:
    """Each offsets partition has one replica, and broker 3, which has some of them, is dead."""
    incident = offsets_rf1_all_alive()
    incident.cluster.kill(3)
    return incident


def offsets_rf1_all_alive(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Each offsets partition has one replica; all brokers are alive."""
    cluster = kind.healthy(4, topics={OFFSETS_TOPIC: 12}, replication=1, groups={"payments": 42})
    tps = _topic(cluster, OFFSETS_TOPIC)
    return PreparedIncident(cluster, found("KFX303", OFFSETS_TOPIC, tps, severity=Severity.WARNING))


def offsets_rf1_two_brokers() -> PreparedIncident:
    """Each offsets partition has one replica, and there are only two brokers."""
    cluster = MemoryCluster.healthy(2, topics={OFFSETS_TOPIC: 12}, replication=1)
    return PreparedIncident(
        cluster, found("KFX303", OFFSETS_TOPIC, _topic(cluster, OFFSETS_TOPIC), severity=Severity.WARNING)
    )


def weak_topic(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Two replicas, min.insync.replicas 1, unclean elections enabled."""
    cluster = kind.healthy(topics={"orders": 6}, replication=2)
    cluster.records.topic_configs["orders"] = {"unclean.leader.election.enable": "true"}
    return PreparedIncident(cluster, requested("orders", _topic(cluster, "orders")))


def weak_topic_rf3(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Three replicas, min.insync.replicas 1, unclean elections enabled."""
    cluster = kind.healthy(topics={"orders": 6})
    cluster.records.topic_configs["orders"] = {"unclean.leader.election.enable": "true"}
    return PreparedIncident(cluster, requested("orders", _topic(cluster, "orders")))


def replicas_in_one_rack(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Four brokers in two racks; both replicas of each partition are in rack a."""
    cluster = kind.healthy(4, topics={"other": 4}, racks={1: "a", 2: "a", 3: "b", 4: "b"})
    for p in range(4):
        cluster.add_partition(TopicPartition("orders", p), (1, 2) if p % 2 else (2, 1))
    return PreparedIncident(cluster, requested("orders", _topic(cluster, "orders")))


def broker_ids_gone() -> PreparedIncident:
    """Broker 2 came back as broker 4 with an empty disk; the other replicas lead."""
    cluster = MemoryCluster.healthy(topics={"orders": 6})
    cluster.remove_broker(2)
    cluster.add_broker(4, rack="az2")
    cluster.advance(5)
    return PreparedIncident(cluster, found("KFX105", "broker 2", _topic(cluster, "orders"), facts={"lost": (2,)}))


def broker_ids_gone_kraft() -> PreparedIncident:
    """The same on KRaft: broker 2 stays registered, with the address that is broker 4's now."""
    cluster = MemoryKraftCluster.healthy(topics={"orders": 6})
    cluster.kill(2)
    cluster.add_broker(4, rack="az2")
    cluster.brokers[4].endpoint = cluster.brokers[2].endpoint
    cluster.advance(5)
    return PreparedIncident(cluster, found("KFX105", "broker 2", _topic(cluster, "orders"), facts={"lost": (2,)}))


def broker_ids_gone_another_dead() -> PreparedIncident:
    """The same as `broker_ids_gone`, and broker 3 is down for a restart: it is dead, and not gone."""
    incident = broker_ids_gone()
    incident.cluster.kill(3)
    incident.cluster.advance(1)
    return incident


def stuck_reassignment(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """A reassignment to broker 4, which died when the copy began."""
    cluster = kind.healthy(4, topics={"other": 4})
    tp = TopicPartition("orders", 0)
    cluster.add_partition(tp, (1, 2))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 4))
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX501", "waits for broker 4", (tp,), severity=Severity.WARNING))


def stuck_reassignment_two() -> PreparedIncident:
    """Two reassignments to broker 4, which died; the original replica of one of them died too."""
    incident = stuck_reassignment()
    cluster, [safe] = incident.cluster, incident.finding.partitions
    cluster.revive(4)
    unsafe = TopicPartition("orders", 1)
    cluster.add_partition(unsafe, (3,))
    cluster.moves.reassign(unsafe, (1, 4))
    cluster.kill(3)
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX501", "waits for broker 4", (safe, unsafe), severity=Severity.WARNING))


def stuck_reassignment_unsafe(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """The original replica, broker 3, died; to cancel would leave no leader and no log."""
    cluster = kind.healthy(4, topics={"other": 4})
    tp = TopicPartition("orders", 0)
    cluster.add_partition(tp, (3,))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 4))
    cluster.kill(3)
    cluster.kill(4)
    return PreparedIncident(cluster, found("KFX501", "waits for broker 4", (tp,), severity=Severity.WARNING))


def move_never_ends() -> PreparedIncident:
    """On Kafka 4.3, a reassignment of [2] to [1,3] was under way and it was reassigned to [1]; all are in sync."""
    cluster = MemoryKraftCluster.healthy(4, topics={"other": 4})
    tp = TopicPartition("orders", 0)
    cluster.add_partition(tp, (2,))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 3))
    cluster.moves.reassign(tp, (1,))
    cluster.copy_seconds = 0.0
    cluster.advance(5)
    return PreparedIncident(cluster, found("KFX504", "topic orders", (tp,), severity=Severity.WARNING))


def move_never_ends_unsafe() -> PreparedIncident:
    """The same, and the original replica, broker 2, died."""
    incident = move_never_ends()
    incident.cluster.kill(2)
    return incident


def left_over_throttles(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """Throttled rates on all brokers and throttled replicas on topic orders, with no reassignment in progress."""
    cluster = kind.healthy(topics={"orders": 6})
    _throttle(cluster)
    return PreparedIncident(cluster, requested("cluster", ()))


def foreign_reassignment() -> PreparedIncident:
    """Another operator's reassignment is in progress, with its throttle."""
    incident = left_over_throttles()
    cluster = incident.cluster
    tp = TopicPartition("logs", 0)
    cluster.add_partition(tp, (1, 2))
    cluster.copy_seconds = 3600.0
    cluster.moves.reassign(tp, (1, 3))
    return incident
