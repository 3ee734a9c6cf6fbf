"""Incidents of a KRaft quorum that has lost its majority for good: voters 100, 101 and 102, brokers 1, 2 and 3."""

from __future__ import annotations

from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.recovery import CopyRead
from kfix.heal.memory.incidents.prepared import PreparedIncident, requested
from kfix.heal.memory.kraft import MemoryKraftCluster

#: The metadata offset after the last one that every broker has applied.
END = 100
_VOTERS = (100, 101, 102)


def quorum_majority_lost() -> PreparedIncident:
    """The disks of controllers 100 and 101 are lost; those of 102 and of the brokers are below /disks."""
    cluster = MemoryKraftCluster.healthy(topics={"orders": 6})
    cluster.alter_configs(ResourceKind.TOPIC, "orders", {"min.insync.replicas": "2"})
    cluster.faults.calls.clear()
    cluster.faults.unreadable["quorum"] = "no active controller answers"
    for node in (1, 2, 3, 102):
        folder = f"/disks/{node}"
        cluster.disks[folder] = CopyRead(
            folder, cluster.cluster_id, node, 5, END, 7 if node in _VOTERS else 5, held=node < 100, voters=_VOTERS
        )
    return PreparedIncident(cluster, requested("cluster", ()))


def quorum_majority_lost_runs() -> PreparedIncident:
    """The controller that is left still runs."""
    return _with(102, held=True)


def quorum_majority_lost_diverged() -> PreparedIncident:
    """A broker has records that the longest copy does not have."""
    return _with(3, own=2)


def quorum_majority_lost_behind() -> PreparedIncident:
    """A broker has applied more than any copy that can be read has."""
    incident = quorum_majority_lost()
    assert isinstance(incident.cluster, MemoryKraftCluster)
    incident.cluster.applied_offset = END
    return incident


def quorum_majority_lost_broker_down() -> PreparedIncident:
    """Broker 3 does not answer either."""
    incident = quorum_majority_lost()
    incident.cluster.silence(3)
    return incident


def _with(node: int, *, held: bool | None = None, own: int = 0) -> PreparedIncident:
    incident = quorum_majority_lost()
    copy = incident.cluster.disks[f"/disks/{node}"]
    incident.cluster.disks[copy.folder] = copy._replace(held=copy.held if held is None else held, own=own)
    return incident
