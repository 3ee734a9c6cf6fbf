"""Incidents of committed offsets, with the offsets that were saved from the log."""

from __future__ import annotations

from kfix.core.derive.restoring import OffsetsItem
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents.prepared import PreparedIncident, requested

PAYMENTS, MAIL = "payments", "mail"
_TOPIC = "orders"


def offsets_not_loaded(kind: type[MemoryCluster] = MemoryCluster) -> PreparedIncident:
    """The coordinator dropped the offsets of two groups; `mail` has committed an older one since, with metadata."""
    cluster = kind.healthy()
    for number in range(2):
        for broker in cluster.brokers:
            cluster.logs.write(TopicPartition(_TOPIC, number), broker, LogEnd(0, 100), 0)
    cluster.committed[MAIL] = {TopicPartition(_TOPIC, 0): StoredOffset(3, 0, "")}
    saved = (
        OffsetsItem(MAIL, _TOPIC, {TopicPartition(_TOPIC, 0): StoredOffset(40, 0, "")}),
        OffsetsItem(PAYMENTS, _TOPIC, {TopicPartition(_TOPIC, n): StoredOffset(50 + n, 2, "a note") for n in range(2)}),
    )
    return PreparedIncident(cluster, requested("cluster", ()), saved)


def offsets_not_loaded_committed_since() -> PreparedIncident:
    """The same, and `mail` has committed a newer offset after the comparison with the saved ones."""
    incident = offsets_not_loaded()
    incident.cluster.committed[MAIL] = {TopicPartition(_TOPIC, 0): StoredOffset(60, 0, "")}
    return incident
