"""Checks over a fleet, for what no single cluster can show. One file per check; its module docstring is its page."""

from __future__ import annotations

from kfix.core.fleetcase import FleetCheck
from kfix_diagnostics.fleet import (
    kfx701_not_collected,
    kfx702_stuck_since_last_run,
    kfx703_fleet_drift,
    kfx704_cluster_identity,
    kfx705_clock_skew,
)

FLEET: tuple[FleetCheck, ...] = (
    kfx701_not_collected.CHECK,
    kfx702_stuck_since_last_run.CHECK,
    kfx703_fleet_drift.CHECK,
    kfx704_cluster_identity.CHECK,
    kfx705_clock_skew.CHECK,
)

__all__ = ["FLEET"]
