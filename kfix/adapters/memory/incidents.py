"""Named incidents on the in-memory cluster: a sick cluster and the finding a diagnosis of it would give.

Runbooks name them in their `tests:`; unit tests and examples start from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.adapters.memory import incidents_leading, incidents_placing
from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.naming import PreparedIncident
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, Confidence, FactValue, Finding, Severity

STUCK = TopicPartition(OFFSETS_TOPIC, 26)
ORDERS = TopicPartition("orders", 2)


def stuck_finding(cluster: MemoryCluster, *tps: TopicPartition, group: str = "") -> Finding:
    """KFX101 or KFX102, with the facts the diagnostics give."""
    tp = tps[0]
    facts = _facts(cluster, tp) | {"group": group, "dead": _dead(cluster)}
    code = "KFX101" if tp.topic == OFFSETS_TOPIC else "KFX102"
    return Finding(
        code=code,
        severity=Severity.CRITICAL,
        obj=str(tp),
        summary=f"{tp} has no leader, although an in-sync replica is alive",
        cause=Cause("the controller's memory and ZooKeeper disagreed when the recorded leader died", Confidence.LIKELY),
        partitions=tps,
        facts=facts,
    )


def diverged_finding(cluster: MemoryCluster, tp: TopicPartition) -> Finding:
    state = cluster.records.states[tp]
    view = next(b.views[tp] for b in cluster.brokers.values() if b.alive)
    facts: dict[str, FactValue] = {
        "topic": tp.topic,
        "partition": tp.partition,
        "zk_leader": state.leader,
        "zk_epoch": state.leader_epoch,
        "view_leader": view.leader,
        "view_epoch": view.leader_epoch,
        "assignment": cluster.records.assignments[tp].replicas,
        "isr": state.isr,
    }
    return Finding(
        code="KFX201",
        severity=Severity.WARNING,
        obj=str(tp),
        summary=f"{tp}: ZooKeeper records leader {state.leader}, brokers follow {view.leader}",
        cause=Cause("somebody wrote the state znode behind the controller's back", Confidence.LIKELY),
        partitions=(tp,),
        facts=facts,
    )


def _facts(cluster: MemoryCluster, tp: TopicPartition) -> dict[str, FactValue]:
    state, order = cluster.records.states[tp], cluster.records.assignments[tp].replicas
    live = tuple(b for b in state.isr if cluster.brokers[b].alive)
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "leader": state.leader,
        "isr": state.isr,
        "live_isr": live,
        "assignment": order,
        "preferred_in_live_isr": order[0] in live,
        "controller": -1 if cluster.records.controller is None else cluster.records.controller,
    }


def _dead(cluster: MemoryCluster) -> tuple[int, ...]:
    return tuple(sorted(b.id for b in cluster.brokers.values() if not b.alive))


def _three(order: tuple[int, ...], *tps: TopicPartition) -> MemoryCluster:
    """Brokers 1, 2, 3 with controller 2; `tps` assigned in `order`."""
    cluster = MemoryCluster.healthy(topics={"other": 3})
    cluster.control.fail_over_to(2)
    for tp in tps:
        cluster.add_partition(tp, order)
    for p in range(50):
        tp = TopicPartition(OFFSETS_TOPIC, p)
        if tp not in cluster.records.assignments:
            cluster.add_partition(tp, (2, 3, 1))
    return cluster


def _stick(cluster: MemoryCluster, *tps: TopicPartition) -> None:
    """The founding incident: behind the controller's back the state names broker 1, which then dies."""
    for tp in tps:
        cluster.corrupt_state(tp, leader=1, isr=(1, 2))
    cluster.kill(1)


def stuck_offsets_partition() -> PreparedIncident:
    """A1: brokers follow 3, ZooKeeper said 1, and 1 died. Leader -1, ISR [2]; controller 2 does nothing."""
    cluster = _three((3, 1, 2), STUCK)
    cluster.groups["payments"] = 42
    _stick(cluster, STUCK)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def stuck_preferred_alive() -> PreparedIncident:
    """The preferred replica, broker 2, is the one that is alive and in sync. Broker 3 was the leader by then."""
    cluster = _three((2, 3, 1), STUCK)
    cluster.control.memory[STUCK].leader = 3
    _stick(cluster, STUCK)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def five_stuck_partitions() -> PreparedIncident:
    tps = tuple(TopicPartition(OFFSETS_TOPIC, p) for p in (3, 11, 26, 31, 48))
    cluster = _three((3, 1, 2), *tps)
    _stick(cluster, *tps)
    return PreparedIncident(cluster, stuck_finding(cluster, *tps))


def stuck_orders_partition() -> PreparedIncident:
    cluster = _three((3, 1, 2), ORDERS)
    _stick(cluster, ORDERS)
    return PreparedIncident(cluster, stuck_finding(cluster, ORDERS))


def dead_isr() -> PreparedIncident:
    """Only the dead broker 1 was in sync: no election can help without loss."""
    cluster = _three((3, 1, 2), STUCK)
    cluster.corrupt_state(STUCK, leader=1, isr=(1,))
    cluster.kill(1)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def stuck_under_migration() -> PreparedIncident:
    incident = stuck_offsets_partition()
    incident.cluster.records.migrating = True
    return incident


def latent_divergence() -> PreparedIncident:
    """A1 before the fall: ZooKeeper says 1, every broker follows 3, and everybody works."""
    cluster = _three((3, 1, 2), STUCK)
    cluster.corrupt_state(STUCK, leader=1, isr=(1, 2))
    return PreparedIncident(cluster, diverged_finding(cluster, STUCK))


def divergence_with_a_short_log() -> PreparedIncident:
    incident = latent_divergence()
    incident.cluster.append(STUCK, 7, (3, 2))
    return incident


def divergence_with_an_unread_log() -> PreparedIncident:
    incident = latent_divergence()
    incident.cluster.silence(3)
    return incident


ALL: Mapping[str, Callable[[], PreparedIncident]] = {
    **incidents_leading.ALL,
    **incidents_placing.ALL,
    "dead-isr": dead_isr,
    "divergence-with-a-short-log": divergence_with_a_short_log,
    "divergence-with-an-unread-log": divergence_with_an_unread_log,
    "five-stuck-partitions": five_stuck_partitions,
    "latent-divergence": latent_divergence,
    "stuck-offsets-partition": stuck_offsets_partition,
    "stuck-orders-partition": stuck_orders_partition,
    "stuck-preferred-alive": stuck_preferred_alive,
    "stuck-under-migration": stuck_under_migration,
}
