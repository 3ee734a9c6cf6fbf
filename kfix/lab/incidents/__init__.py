"""Every incident the lab knows, written down by hand: a diff of this file is a new way to break a cluster."""

from __future__ import annotations

from kfix.lab.incidents import (
    broker_ids_gone,
    coordinator_latent,
    coordinator_stuck,
    healthy,
    isr_gone,
    offsets_rf1,
    offsets_under_min_isr,
    packed_replicas,
    under_min_isr,
    whole_isr_dead,
)
from kfix.lab.incidents.incident import Incident

INCIDENTS: dict[str, Incident] = {
    "healthy": healthy.INCIDENT,
    "coordinator-latent": coordinator_latent.INCIDENT,
    "coordinator-stuck": coordinator_stuck.INCIDENT,
    "offsets-rf1": offsets_rf1.INCIDENT,
    "offsets-under-min-isr": offsets_under_min_isr.INCIDENT,
    "broker-ids-gone": broker_ids_gone.INCIDENT,
    "isr-gone": isr_gone.INCIDENT,
    "under-min-isr": under_min_isr.INCIDENT,
    "packed-replicas": packed_replicas.INCIDENT,
    "whole-isr-dead": whole_isr_dead.INCIDENT,
}

__all__ = ["INCIDENTS", "Incident"]
