"""Named incidents on the in-memory cluster: a sick cluster and the finding that a diagnosis of it gives.

Runbooks name them in their `tests:`; unit tests and examples start from them. An incident has the name that it has in
the lab (`kfix lab incidents`); a suffix names a variant of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kfix.heal.memory.incidents import coordinators, groups, partitions, registrations
from kfix.heal.memory.incidents.coordinators import ORDERS, STUCK
from kfix.heal.memory.incidents.prepared import PreparedIncident, found, requested
from kfix.heal.memory.kraft import MemoryKraftCluster

ALL: Mapping[str, Callable[[], PreparedIncident]] = {
    "broker-ids-gone": partitions.broker_ids_gone,
    "broker-ids-gone-another-dead": partitions.broker_ids_gone_another_dead,
    "broker-ids-gone-kraft": partitions.broker_ids_gone_kraft,
    "coordinator-failed": coordinators.coordinator_failed,
    "coordinator-failed-no-cleaner": coordinators.coordinator_failed_no_cleaner,
    "coordinator-failed-replica-dead": coordinators.coordinator_failed_replica_dead,
    "coordinator-failed-two-keys": coordinators.coordinator_failed_two_keys,
    "coordinator-failed-unrecognized": coordinators.coordinator_failed_unrecognized,
    "coordinator-loading": coordinators.coordinator_loading,
    "coordinator-silent": coordinators.coordinator_silent,
    "coordinator-silent-kraft": partitions.coordinator_silent,
    "coordinator-stuck": coordinators.coordinator_stuck,
    "coordinator-stuck-five-partitions": coordinators.coordinator_stuck_five_partitions,
    "coordinator-stuck-in-migration": coordinators.coordinator_stuck_in_migration,
    "coordinator-stuck-isr-dead": coordinators.coordinator_stuck_isr_dead,
    "coordinator-stuck-log-dir-failed": coordinators.coordinator_stuck_log_dir_failed,
    "coordinator-stuck-of-two-replicas": coordinators.coordinator_stuck_of_two_replicas,
    "coordinator-stuck-preferred-alive": coordinators.coordinator_stuck_preferred_alive,
    "eligible-forgotten": partitions.eligible_forgotten,
    "eligible-waits": partitions.eligible_waits,
    "eligible-waits-last-leader-back": partitions.eligible_waits_last_leader_back,
    "eligible-waits-quorum-lost": partitions.eligible_waits_quorum_lost,
    "eligible-waits-unclean-allowed": partitions.eligible_waits_unclean_allowed,
    "foreign-reassignment": partitions.foreign_reassignment,
    "ghost-registration": registrations.ghost_registration,
    "ghost-registration-forgotten": registrations.ghost_registration_forgotten,
    "ghost-registration-hidden": registrations.ghost_registration_hidden,
    "ghost-registration-just-left": registrations.ghost_registration_just_left,
    "ghost-registration-runs": registrations.ghost_registration_runs,
    "ghost-registration-unreported": registrations.ghost_registration_unreported,
    "ghost-registration-voter": registrations.ghost_registration_voter,
    "ghost-registration-with-replicas": registrations.ghost_registration_with_replicas,
    "healthy": partitions.healthy,
    "healthy-in-migration": partitions.healthy_in_migration,
    "isr-gone": partitions.isr_gone,
    "leader-skew": partitions.leader_skew,
    "leader-skew-kraft": partial(partitions.leader_skew, MemoryKraftCluster),
    "left-over-throttles": partitions.left_over_throttles,
    "left-over-throttles-kraft": partial(partitions.left_over_throttles, MemoryKraftCluster),
    "metadata-divergence": coordinators.metadata_divergence,
    "metadata-divergence-short-log": coordinators.metadata_divergence_short_log,
    "metadata-divergence-unread-log": coordinators.metadata_divergence_unread_log,
    "move-never-ends": partitions.move_never_ends,
    "move-never-ends-unsafe": partitions.move_never_ends_unsafe,
    "no-live-replica": partitions.no_live_replica,
    "offsets-not-loaded": groups.offsets_not_loaded,
    "offsets-not-loaded-committed-since": groups.offsets_not_loaded_committed_since,
    "offsets-rf1": partitions.offsets_rf1,
    "offsets-rf1-all-alive": partitions.offsets_rf1_all_alive,
    "offsets-rf1-all-alive-kraft": partial(partitions.offsets_rf1_all_alive, MemoryKraftCluster),
    "offsets-rf1-two-brokers": partitions.offsets_rf1_two_brokers,
    "open-transaction": groups.open_transaction,
    "open-transaction-unnamed": groups.open_transaction_unnamed,
    "partition-stuck": coordinators.partition_stuck,
    "pending-offsets": groups.pending_offsets,
    "rebalance-held": groups.rebalance_held,
    "rebalance-held-by-a-static-member": groups.rebalance_held_by_a_static_member,
    "replicas-in-one-rack": partitions.replicas_in_one_rack,
    "replicas-in-one-rack-kraft": partial(partitions.replicas_in_one_rack, MemoryKraftCluster),
    "stuck-reassignment": partitions.stuck_reassignment,
    "stuck-reassignment-kraft": partial(partitions.stuck_reassignment, MemoryKraftCluster),
    "stuck-reassignment-two": partitions.stuck_reassignment_two,
    "stuck-reassignment-unsafe": partitions.stuck_reassignment_unsafe,
    "stuck-reassignment-unsafe-kraft": partial(partitions.stuck_reassignment_unsafe, MemoryKraftCluster),
    "under-min-isr": partitions.under_min_isr,
    "under-min-isr-kraft": partial(partitions.under_min_isr, MemoryKraftCluster),
    "weak-topic": partitions.weak_topic,
    "weak-topic-rf3": partitions.weak_topic_rf3,
    "weak-topic-rf3-kraft": partial(partitions.weak_topic_rf3, MemoryKraftCluster),
    "transaction-late-record": groups.transaction_late_record,
    "transaction-marker-lost": groups.transaction_marker_lost,
    "transaction-outcome-unknown": groups.transaction_outcome_unknown,
}

__all__ = ["ALL", "ORDERS", "STUCK", "PreparedIncident", "found", "requested"]
