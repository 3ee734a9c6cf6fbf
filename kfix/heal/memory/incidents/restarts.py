"""Healthy clusters whose three brokers are to be restarted, one after another."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.versions import LEVELS
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


def metadata_version_behind() -> PreparedIncident:
    """Every node runs Kafka 4.4, and metadata.version is that of 4.3."""
    incident = restartable(MemoryKraftCluster)
    cluster = incident.cluster
    cluster.levels = dict.fromkeys((*cluster.brokers, *cluster.controllers), LEVELS[4, 4])
    return incident


def metadata_version_behind_mixed() -> PreparedIncident:
    """Controller 102 still runs Kafka 4.3."""
    incident = metadata_version_behind()
    del incident.cluster.levels[102]
    return incident


def metadata_version_behind_dead() -> PreparedIncident:
    """Broker 4, which holds no replica, is registered and does not answer."""
    incident = metadata_version_behind()
    incident.cluster.add_broker(4)
    incident.cluster.kill(4)
    return incident


def restartable_lagging() -> PreparedIncident:
    """Broker 3 is down, so its replicas are not in sync."""
    incident = restartable()
    incident.cluster.kill(3)
    return incident
