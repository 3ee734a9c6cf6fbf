"""Incidents of coordinators: the record, the controller and the coordinator disagree, or it gave up its partition."""

from dataclasses import replace

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.diagnosis.finding import Cause, FactValue, Finding, Severity
from kfix.core.snapshot.load_conflicts import LoadConflict
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents.prepared import PreparedIncident, found
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.memory.load_failures import MemoryLoadFailure, Stage

STUCK = TopicPartition(OFFSETS_TOPIC, 26)
ORDERS = TopicPartition("orders", 2)
#: The offsets partition of group payments.
OFFSETS = TopicPartition(OFFSETS_TOPIC, 13)


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
        cause=Cause("the controller's memory and ZooKeeper disagreed when the recorded leader died"),
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
        cause=Cause("the state znode was changed without the controller"),
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
    """The state names broker 1 behind the controller's back, and then broker 1 dies."""
    for tp in tps:
        cluster.corrupt_state(tp, leader=1, isr=(1, 2))
    cluster.kill(1)


def coordinator_stuck() -> PreparedIncident:
    """Brokers follow 3, ZooKeeper recorded 1, and 1 died. Leader -1, ISR [2]; controller 2 does not elect."""
    cluster = _three((3, 1, 2), STUCK)
    cluster.groups["payments"] = 42
    _stick(cluster, STUCK)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def coordinator_stuck_log_dir_failed() -> PreparedIncident:
    """The only in-sync replica is in a failed log directory of broker 2, which is alive: it cannot be elected."""
    incident = coordinator_stuck()
    incident.cluster.brokers[2].offline.add(STUCK)
    incident.cluster.control.announce([STUCK])
    return incident


def coordinator_stuck_preferred_alive() -> PreparedIncident:
    """The preferred replica, broker 2, is alive and in sync. Broker 3 was the leader when broker 1 died."""
    cluster = _three((2, 3, 1), STUCK)
    cluster.control.memory[STUCK].leader = 3
    _stick(cluster, STUCK)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def coordinator_stuck_of_two_replicas() -> PreparedIncident:
    """Replicas 1 and 2: brokers follow 2, ZooKeeper recorded 1, and 1 died. No replica outside the ISR is alive."""
    cluster = _three((1, 2), STUCK)
    cluster.control.memory[STUCK].leader = 2
    _stick(cluster, STUCK)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def coordinator_stuck_five_partitions() -> PreparedIncident:
    """Five partitions of the offsets topic are stuck, each with leader -1 and ISR [2]."""
    tps = tuple(TopicPartition(OFFSETS_TOPIC, p) for p in (3, 11, 26, 31, 48))
    cluster = _three((3, 1, 2), *tps)
    _stick(cluster, *tps)
    return PreparedIncident(cluster, stuck_finding(cluster, *tps))


def coordinator_stuck_isr_dead() -> PreparedIncident:
    """Only the dead broker 1 was in sync: no election can help without loss."""
    cluster = _three((3, 1, 2), STUCK)
    cluster.corrupt_state(STUCK, leader=1, isr=(1,))
    cluster.kill(1)
    return PreparedIncident(cluster, stuck_finding(cluster, STUCK))


def coordinator_stuck_in_migration() -> PreparedIncident:
    """The same as `coordinator_stuck`, while the cluster migrates to KRaft."""
    incident = coordinator_stuck()
    incident.cluster.records.migrating = True
    return incident


def partition_stuck() -> PreparedIncident:
    """The same as `coordinator_stuck`, on a partition of topic orders."""
    cluster = _three((3, 1, 2), ORDERS)
    _stick(cluster, ORDERS)
    return PreparedIncident(cluster, stuck_finding(cluster, ORDERS))


def metadata_divergence() -> PreparedIncident:
    """ZooKeeper records leader 1, every broker follows 3, and all clients work."""
    cluster = _three((3, 1, 2), STUCK)
    cluster.corrupt_state(STUCK, leader=1, isr=(1, 2))
    return PreparedIncident(cluster, diverged_finding(cluster, STUCK))


def metadata_divergence_short_log() -> PreparedIncident:
    """Broker 1, which ZooKeeper records as leader, has seven records fewer than the others."""
    incident = metadata_divergence()
    incident.cluster.append(STUCK, 7, (3, 2))
    return incident


def metadata_divergence_unread_log() -> PreparedIncident:
    """Broker 3 does not answer, so its log end is unknown."""
    incident = metadata_divergence()
    incident.cluster.silence(3)
    return incident


def coordinator_silent() -> PreparedIncident:
    """Every broker names a leader that has never received LeaderAndIsr and answers NOT_COORDINATOR."""
    cluster = MemoryCluster.healthy(groups={"payments": 42})
    state = cluster.records.states[OFFSETS]
    other = next(b for b in state.isr if b != state.leader)
    cluster.phantom_leader(OFFSETS, leader=other)
    return PreparedIncident(cluster, found("KFX106", f"coordinator on broker {other}", (OFFSETS,)))


def coordinator_loading() -> PreparedIncident:
    """The coordinator answers COORDINATOR_LOAD_IN_PROGRESS eight times, then it works."""
    cluster = MemoryCluster.healthy(groups={"payments": 42})
    leader = cluster.records.states[OFFSETS].leader
    cluster.loading[OFFSETS.partition] = 8
    return PreparedIncident(
        cluster, found("KFX106", f"coordinator on broker {leader}", (OFFSETS,), severity=Severity.WARNING)
    )


# A coordinator of Kafka 4 that gave up its offsets partition, and variants that no runbook heals.

_GROUP, _PARTITIONS = "payments", 4
FAILED = TopicPartition(OFFSETS_TOPIC, partition_of_group(_GROUP, _PARTITIONS))
_KEY = (3).to_bytes(2, "big") + len(_GROUP).to_bytes(2, "big") + _GROUP.encode()
_CONFLICT = LoadConflict(_GROUP, _KEY.hex(), 3, offset=12, first=12, classic=11)


def coordinator_failed() -> PreparedIncident:
    """One record of the consumer protocol of a classic group, on every replica; the load of epoch 0 failed on it."""
    cluster = MemoryKraftCluster.healthy(topics={OFFSETS_TOPIC: _PARTITIONS, "orders": 2})
    cluster.settings.alter(ResourceKind.TOPIC, OFFSETS_TOPIC, {"cleanup.policy": "compact"})
    cluster.committed[_GROUP] = {TopicPartition("orders", n): StoredOffset(40 + n) for n in range(2)}
    cluster.groups[_GROUP] = 2
    state = cluster.records.states[FAILED]
    stages = dict.fromkeys(cluster.records.assignments[FAILED].replicas, Stage.RECORD)
    cluster.load_failures[FAILED] = MemoryLoadFailure((_CONFLICT,), stages, state.leader_epoch)
    return PreparedIncident(cluster, found("KFX118", f"coordinator on broker {state.leader}", (FAILED,)))


def coordinator_failed_unrecognized() -> PreparedIncident:
    """The same, and nothing in the log contradicts another record, as far as kfix knows."""
    incident = coordinator_failed()
    incident.cluster.load_failures[FAILED].conflicts = ()
    return incident


def coordinator_failed_two_keys() -> PreparedIncident:
    """The same, and a record of a member of that group, too."""
    incident = coordinator_failed()
    member = replace(_CONFLICT, key=(_KEY + b"\0\1m").hex(), kind=5, offset=13, first=13)
    incident.cluster.load_failures[FAILED].conflicts = (_CONFLICT, member)
    return incident


def coordinator_failed_no_cleaner() -> PreparedIncident:
    """The same, on brokers without a log cleaner."""
    incident = coordinator_failed()
    incident.cluster.settings.properties["log.cleaner.enable"] = "false"
    return incident


def coordinator_failed_replica_dead() -> PreparedIncident:
    """The same, and a follower of the partition is dead."""
    incident = coordinator_failed()
    cluster = incident.cluster
    leader = cluster.records.states[FAILED].leader
    cluster.kill(next(b for b in cluster.records.assignments[FAILED].replicas if b != leader))
    return incident
