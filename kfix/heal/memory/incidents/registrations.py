"""Incidents of registrations on KRaft: broker 4 is fenced, and may be gone for good."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents.prepared import PreparedIncident, requested
from kfix.heal.memory.kraft import MemoryKraftCluster

GHOST = 4


def ghost_registration(fetched: float | None = 7200.0) -> PreparedIncident:
    """Broker 4 has held no replica and was killed; its last metadata fetch was `fetched` seconds ago."""
    cluster = MemoryKraftCluster.healthy()
    cluster.add_broker(GHOST, rack="az4")
    cluster.kill(GHOST)
    if fetched is not None:
        cluster.fetched[GHOST] = fetched
    return PreparedIncident(cluster, requested("cluster", ()))


def _as(incident: PreparedIncident, name: str) -> MemoryKraftCluster:
    if not isinstance(incident.cluster, MemoryKraftCluster):
        raise TypeError(f"{name} is of KRaft")
    return incident.cluster


def ghost_registration_just_left() -> PreparedIncident:
    return ghost_registration(20.0)


def ghost_registration_forgotten() -> PreparedIncident:
    """The active controller no longer knows any fetch of it."""
    return ghost_registration(None)


def ghost_registration_runs() -> PreparedIncident:
    """It is cut off from the controllers, and answers to kfix."""
    incident = ghost_registration()
    _as(incident, "a broker that is cut off").cut.add(GHOST)
    return incident


def ghost_registration_voter() -> PreparedIncident:
    incident = ghost_registration()
    _as(incident, "a voter").combined.add(GHOST)
    return incident


def ghost_registration_with_replicas() -> PreparedIncident:
    incident = ghost_registration()
    incident.cluster.add_partition(TopicPartition("cargo", 0), (1, GHOST))
    return incident


def ghost_registration_hidden() -> PreparedIncident:
    """It may hold replicas of a topic that the client may not describe."""
    incident = ghost_registration()
    _as(incident, "hidden topics").hidden = "broker 1: TOPIC_AUTHORIZATION_FAILED for secret"
    return incident


def ghost_registration_unreported() -> PreparedIncident:
    """As before Kafka 4.0: no request shows which brokers are registered."""
    incident = ghost_registration()
    _as(incident, "a cluster before Kafka 4").reports_fenced = False
    return incident
