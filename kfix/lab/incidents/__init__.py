"""Every incident the lab knows, written down by hand: a diff of this file is a new way to break a cluster."""

from __future__ import annotations

from kfix.lab.incidents import (
    broker_ids_gone,
    coordinator_latent,
    coordinator_silent,
    coordinator_stuck,
    foreign_reassignment,
    healthy,
    isr_gone,
    leader_skew,
    left_over_throttles,
    offsets_rf1,
    offsets_under_min_isr,
    packed_replicas,
    replicas_in_one_rack,
    stuck_reassignment,
    transactions_rf1,
    under_min_isr,
    weak_topic,
    whole_isr_dead,
)
from kfix.lab.incidents.incident import Incident

INCIDENTS: dict[str, Incident] = {
    "healthy": healthy.INCIDENT,
    "coordinator-latent": coordinator_latent.INCIDENT,
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
}

__all__ = ["INCIDENTS", "Incident"]
