"""Every incident the lab knows, written down by hand: a diff of this file is a new way to break a cluster."""

from __future__ import annotations

from kfix.lab.incidents import coordinator_latent, coordinator_stuck, healthy
from kfix.lab.incidents.incident import Incident

INCIDENTS: dict[str, Incident] = {
    incident.name: incident
    for incident in (
        healthy.INCIDENT,
        coordinator_latent.INCIDENT,
        coordinator_stuck.INCIDENT,
    )
}

__all__ = ["INCIDENTS", "Incident"]
