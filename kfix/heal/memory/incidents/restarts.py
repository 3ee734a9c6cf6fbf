"""Healthy clusters whose three brokers are to be restarted, one after another."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents.prepared import PreparedIncident, requested
from kfix.heal.memory.kraft import MemoryKraftCluster

COMMAND = "restart-kafka {role} {node}"
UPGRADES = "upgrade-kafka {role} {node} {version}"


def restartable(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """The inventory names the command. Broker 1 is the controller; on KRaft 100 is the active one of three."""
    cluster = kind.healthy(topics={OFFSETS_TOPIC: 6, "orders": 3}, groups={"payments": 2})
    cluster.site_command, cluster.site_upgrade = COMMAND, UPGRADES
    if isinstance(cluster, MemoryKraftCluster):
        cluster.controllers = dict.fromkeys((100, 101, 102), 0)
    return PreparedIncident(cluster, requested("cluster", ()))


def restartable_by_hand() -> PreparedIncident:
    """The inventory names no command."""
    incident = restartable()
    incident.cluster.site_command = incident.cluster.site_upgrade = ""
    return incident


def restartable_lagging() -> PreparedIncident:
    """Broker 3 is down, so its replicas are not in sync."""
    incident = restartable()
    incident.cluster.kill(3)
    return incident
