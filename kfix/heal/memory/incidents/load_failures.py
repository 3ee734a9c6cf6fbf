"""A coordinator of Kafka 4 that gave up its offsets partition, and variants that no runbook heals."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.snapshot.load_conflicts import LoadConflict
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents.prepared import PreparedIncident, found
from kfix.heal.memory.kraft_cluster import MemoryKraftCluster
from kfix.heal.memory.load_failures import MemoryLoadFailure, Stage

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
