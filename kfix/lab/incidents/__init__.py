"""Every incident of the lab, listed by hand: a diff of this file shows a new way to break a cluster."""

from __future__ import annotations

from kfix.lab.incidents import (
    broker_ids_gone,
    coordinator_silent,
    coordinator_stuck,
    foreign_reassignment,
    healthy,
    isr_gone,
    leader_skew,
    left_over_throttles,
    metadata_divergence,
    offsets_rf1,
    offsets_under_min_isr,
    packed_replicas,
    power_failure,
    replica_lagging,
    replicas_in_one_rack,
    stuck_reassignment,
    transactions_rf1,
    unclean_loss,
    under_min_isr,
    weak_topic,
    whole_isr_dead,
)
from kfix.lab.incidents.network import (
    controller_zone_isolated,
    controller_zone_isolated_with_leader,
    leader_cut_from_followers,
    link_to_controller_cut,
    link_to_leader_cut,
    zone_isolated,
    zone_isolated_with_leader,
    zookeeper_node_cut,
    zookeeper_quorum_lost,
)
from kfix.lab.incidents.setup.incident import Incident

INCIDENTS: dict[str, Incident] = {
    "healthy": healthy.INCIDENT,
    "metadata-divergence": metadata_divergence.INCIDENT,
    "coordinator-stuck": coordinator_stuck.INCIDENT,
    "coordinator-silent": coordinator_silent.INCIDENT,
    "offsets-rf1": offsets_rf1.INCIDENT,
    "transactions-rf1": transactions_rf1.INCIDENT,
    "offsets-under-min-isr": offsets_under_min_isr.INCIDENT,
    "broker-ids-gone": broker_ids_gone.INCIDENT,
    "isr-gone": isr_gone.INCIDENT,
    "under-min-isr": under_min_isr.INCIDENT,
    "packed-replicas": packed_replicas.INCIDENT,
    "whole-isr-dead": whole_isr_dead.INCIDENT,
    "stuck-reassignment": stuck_reassignment.INCIDENT,
    "foreign-reassignment": foreign_reassignment.INCIDENT,
    "left-over-throttles": left_over_throttles.INCIDENT,
    "replicas-in-one-rack": replicas_in_one_rack.INCIDENT,
    "leader-skew": leader_skew.INCIDENT,
    "weak-topic": weak_topic.INCIDENT,
    "power-failure": power_failure.INCIDENT,
    "unclean-loss": unclean_loss.INCIDENT,
    "replica-lagging": replica_lagging.INCIDENT,
    "leader-cut-from-followers": leader_cut_from_followers.INCIDENT,
    "zookeeper-node-cut": zookeeper_node_cut.INCIDENT,
    "zookeeper-quorum-lost": zookeeper_quorum_lost.INCIDENT,
    "link-to-leader-cut": link_to_leader_cut.INCIDENT,
    "link-to-controller-cut": link_to_controller_cut.INCIDENT,
    "zone-isolated": zone_isolated.INCIDENT,
    "zone-isolated-with-leader": zone_isolated_with_leader.INCIDENT,
    "controller-zone-isolated": controller_zone_isolated.INCIDENT,
    "controller-zone-isolated-with-leader": controller_zone_isolated_with_leader.INCIDENT,
}

__all__ = ["INCIDENTS", "Incident"]
