"""The catalogue: every check, written down by hand and ordered by code. A diff of this file is a new judgement."""

from __future__ import annotations

from kfix.derive.checks import Check
from kfix_diagnostics.brokers import (
    kfx401_broker_dead,
    kfx402_broker_silent,
    kfx403_broker_unregistered,
    kfx404_broker_missed,
)
from kfix_diagnostics.durability import (
    kfx301_under_min_isr,
    kfx302_under_replicated,
    kfx303_internal_topic_rf1,
    kfx304_offsets_under_min_isr,
    kfx305_packed_replicas,
    kfx808_replica_lag,
    kfx809_records_lost,
)
from kfix_diagnostics.leadership import (
    kfx101_coordinator_stuck,
    kfx102_leaderless_live_isr,
    kfx103_isr_gone,
    kfx104_no_live_replica,
    kfx105_unknown_broker_ids,
    kfx106_coordinator_silent,
    kfx107_leaderless_unjudged,
    kfx108_pending_offsets,
    kfx109_offsets_not_loaded,
)
from kfix_diagnostics.leftovers import (
    kfx501_stale_reassignment,
    kfx502_stuck_deletion,
    kfx503_left_over_throttle,
    kfx810_not_taken_back,
)
from kfix_diagnostics.network import (
    kfx801_link_cut,
    kfx802_controller_link_cut,
    kfx803_zone_isolated,
    kfx804_two_controllers,
    kfx805_zookeeper_node,
    kfx806_zookeeper_quorum,
    kfx807_broker_alone,
)
from kfix_diagnostics.prevention import (
    kfx601_rf_below_policy,
    kfx602_min_isr_below_policy,
    kfx603_min_isr_equals_rf,
    kfx604_unclean_election_on,
    kfx605_broker_defaults,
    kfx606_racks_missing,
    kfx607_shared_rack,
    kfx608_leaders_skewed,
    kfx609_replicas_skewed,
    kfx610_one_coordinator,
    kfx611_many_partitions,
    kfx612_session_timeout,
    kfx613_end_of_life,
    kfx614_protocol_version,
    kfx615_config_drift,
    kfx616_acks_unseen,
)
from kfix_diagnostics.sources import kfx901_source_unreadable
from kfix_diagnostics.views import kfx201_metadata_divergence, kfx202_controller, kfx203_stale_view

ALL: tuple[Check, ...] = (
    kfx101_coordinator_stuck.CHECK,
    kfx102_leaderless_live_isr.CHECK,
    kfx103_isr_gone.CHECK,
    kfx104_no_live_replica.CHECK,
    kfx105_unknown_broker_ids.CHECK,
    kfx106_coordinator_silent.CHECK,
    kfx107_leaderless_unjudged.CHECK,
    kfx108_pending_offsets.CHECK,
    kfx109_offsets_not_loaded.CHECK,
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
    kfx503_left_over_throttle.CHECK,
    kfx601_rf_below_policy.CHECK,
    kfx602_min_isr_below_policy.CHECK,
    kfx603_min_isr_equals_rf.CHECK,
    kfx604_unclean_election_on.CHECK,
    kfx605_broker_defaults.CHECK,
    kfx606_racks_missing.CHECK,
    kfx607_shared_rack.CHECK,
    kfx608_leaders_skewed.CHECK,
    kfx609_replicas_skewed.CHECK,
    kfx610_one_coordinator.CHECK,
    kfx611_many_partitions.CHECK,
    kfx612_session_timeout.CHECK,
    kfx613_end_of_life.CHECK,
    kfx614_protocol_version.CHECK,
    kfx615_config_drift.CHECK,
    kfx616_acks_unseen.CHECK,
    kfx801_link_cut.CHECK,
    kfx802_controller_link_cut.CHECK,
    kfx803_zone_isolated.CHECK,
    kfx804_two_controllers.CHECK,
    kfx805_zookeeper_node.CHECK,
    kfx806_zookeeper_quorum.CHECK,
    kfx807_broker_alone.CHECK,
    kfx808_replica_lag.CHECK,
    kfx809_records_lost.CHECK,
    kfx810_not_taken_back.CHECK,
    kfx901_source_unreadable.CHECK,
)

__all__ = ["ALL"]
