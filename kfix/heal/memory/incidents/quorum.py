"""Incidents of a KRaft quorum, with voters 100, 101 and 102 and brokers 1, 2 and 3.

It has lost its majority for good, or one of its voters, which may change.
"""

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


def _dynamic(voters: tuple[int, ...] = _VOTERS) -> MemoryKraftCluster:
    """Every voter runs with its own disk."""
    cluster = MemoryKraftCluster.healthy()
    cluster.quorum.voters = {node: f"disk-{node}" for node in voters}
    cluster.quorum.running = dict(cluster.quorum.voters)
    return cluster


def controller_disk_lost() -> PreparedIncident:
    """Controller 102 is dead, and its disk is lost."""
    cluster = _dynamic()
    del cluster.quorum.running[102]
    return PreparedIncident(cluster, requested("cluster", ()))


def voter_wrong_directory() -> PreparedIncident:
    """Controller 102 follows with a new disk, and the voter is the one with its old disk."""
    incident = controller_disk_lost()
    incident.cluster.quorum.running[102] = "new-disk"
    return incident


def voter_wrong_directory_behind() -> PreparedIncident:
    """It has not caught up."""
    return _lagging(voter_wrong_directory(), 102)


def voter_wrong_directory_other_lags() -> PreparedIncident:
    """Voter 101 lags: without 102 only the active controller is left of two voters."""
    return _lagging(voter_wrong_directory(), 101)


def voter_wrong_directory_not_ready() -> PreparedIncident:
    """The active controller does not reach it at first."""
    incident = voter_wrong_directory()
    incident.cluster.quorum.not_ready = 1
    return incident


def voter_wrong_directory_static() -> PreparedIncident:
    """The voters have no directory ids: they cannot change."""
    incident = voter_wrong_directory()
    incident.cluster.quorum.voters = dict.fromkeys(_VOTERS, "")
    return incident


def voter_wrong_directory_removed() -> PreparedIncident:
    """The voter was removed, and the controller was not added."""
    incident = voter_wrong_directory()
    del incident.cluster.quorum.voters[102]
    return incident


def voter_wrong_directory_removed_other_lags() -> PreparedIncident:
    """One of the two voters that are left lags: a third one that failed would cost the majority."""
    return _lagging(voter_wrong_directory_removed(), 101)


def healthy_one_voter() -> PreparedIncident:
    """Controllers 101 and 102 follow as observers, and were never added to the voters."""
    cluster = _dynamic()
    cluster.quorum.voters = {100: "disk-100"}
    return PreparedIncident(cluster, requested("cluster", ()))


def _lagging(incident: PreparedIncident, node: int) -> PreparedIncident:
    incident.cluster.quorum.lagging.add(node)
    return incident
