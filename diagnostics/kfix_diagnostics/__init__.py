"""The catalogue: every check, written down by hand and ordered by code. A diff of this file is a new judgement."""

from __future__ import annotations

from kfix.model.diagnostic import Check
from kfix_diagnostics import (
    kfx101_coordinator_stuck,
    kfx102_leaderless_live_isr,
    kfx103_isr_gone,
    kfx104_no_live_replica,
    kfx105_unknown_broker_ids,
    kfx106_coordinator_silent,
    kfx107_leaderless_unjudged,
    kfx201_metadata_divergence,
    kfx202_controller,
    kfx203_stale_view,
    kfx301_under_min_isr,
    kfx302_under_replicated,
    kfx303_internal_topic_rf1,
    kfx304_offsets_under_min_isr,
    kfx305_packed_replicas,
    kfx401_broker_dead,
    kfx402_broker_silent,
    kfx403_broker_unregistered,
    kfx404_broker_missed,
    kfx501_stale_reassignment,
    kfx502_stuck_deletion,
    kfx901_source_unreadable,
)

ALL: tuple[Check, ...] = (
    kfx101_coordinator_stuck.CHECK,
    kfx102_leaderless_live_isr.CHECK,
    kfx103_isr_gone.CHECK,
    kfx104_no_live_replica.CHECK,
    kfx105_unknown_broker_ids.CHECK,
    kfx106_coordinator_silent.CHECK,
    kfx107_leaderless_unjudged.CHECK,
    kfx201_metadata_divergence.CHECK,
    kfx202_controller.CHECK,
    kfx203_stale_view.CHECK,
    kfx301_under_min_isr.CHECK,
    kfx302_under_replicated.CHECK,
    kfx303_internal_topic_rf1.CHECK,
    kfx304_offsets_under_min_isr.CHECK,
    kfx305_packed_replicas.CHECK,
    kfx401_broker_dead.CHECK,
    kfx402_broker_silent.CHECK,
    kfx403_broker_unregistered.CHECK,
    kfx404_broker_missed.CHECK,
    kfx501_stale_reassignment.CHECK,
    kfx502_stuck_deletion.CHECK,
    kfx901_source_unreadable.CHECK,
)

__all__ = ["ALL"]
