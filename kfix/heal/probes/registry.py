"""Every probe that a runbook may name, listed by hand: a diff of this file shows a new one."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall
from kfix.heal.probes.base import Probe
from kfix.heal.probes.brokers import (
    broker_is_gone,
    broker_unregistered,
    brokers_live_at_least,
    brokers_registered,
    cluster_reachable,
    free_space,
    room_for,
)
from kfix.heal.probes.configs import compaction_is, config_is, no_throttles, throttles_are
from kfix.heal.probes.groups import (
    group_is_empty,
    group_is_settled,
    key_is_compacted,
    key_is_deleted,
    key_is_gone,
    member_holds_rebalance,
    member_is_gone,
    no_pending_offset,
    offsets_are,
    offsets_at_least,
    offsets_in_log,
    stable_offset_free,
    transaction_ended,
    transaction_is_open,
)
from kfix.heal.probes.isr import (
    elr_not_needed,
    enough_stay,
    every_partition_led,
    isr_at_least,
    isr_full,
    isr_is_dead,
    isr_replica_online,
    last_known_is_replica,
    min_isr_satisfied,
    no_unclean_at_start,
    partition_has_live_isr,
    topic_in_sync,
    topic_isr_at_least,
)
from kfix.heal.probes.leadership import (
    controller_is,
    controller_reelected,
    coordinator_answers,
    coordinator_gave_up,
    leader_from_isr,
    leader_is,
    leader_is_preferred,
    partition_has_leader,
    preferred_is,
    reelection_is_safe,
    unclean_winner_is,
    unclean_winner_leads,
    views_agree,
)
from kfix.heal.probes.logs import (
    compaction_possible,
    holds_longest_log,
    isr_holds_leader_log,
    log_tails_known,
    no_open_transactions,
)
from kfix.heal.probes.moves import assignment_is, cancel_is_safe, no_foreign_reassignment, no_reassignment, rf_is

ALL: Mapping[str, Probe] = {
    "assignment_is": assignment_is.PROBE,
    "broker_is_gone": broker_is_gone.PROBE,
    "broker_unregistered": broker_unregistered.PROBE,
    "brokers_live_at_least": brokers_live_at_least.PROBE,
    "brokers_registered": brokers_registered.PROBE,
    "cancel_is_safe": cancel_is_safe.PROBE,
    "cluster_reachable": cluster_reachable.PROBE,
    "compaction_is": compaction_is.PROBE,
    "compaction_possible": compaction_possible.PROBE,
    "config_is": config_is.PROBE,
    "controller_is": controller_is.PROBE,
    "controller_reelected": controller_reelected.PROBE,
    "coordinator_answers": coordinator_answers.PROBE,
    "coordinator_gave_up": coordinator_gave_up.PROBE,
    "elr_not_needed": elr_not_needed.PROBE,
    "enough_stay": enough_stay.PROBE,
    "every_partition_led": every_partition_led.PROBE,
    "free_space": free_space.PROBE,
    "group_is_empty": group_is_empty.PROBE,
    "group_is_settled": group_is_settled.PROBE,
    "holds_longest_log": holds_longest_log.PROBE,
    "isr_at_least": isr_at_least.PROBE,
    "isr_full": isr_full.PROBE,
    "isr_holds_leader_log": isr_holds_leader_log.PROBE,
    "isr_is_dead": isr_is_dead.PROBE,
    "isr_replica_online": isr_replica_online.PROBE,
    "key_is_compacted": key_is_compacted.PROBE,
    "key_is_deleted": key_is_deleted.PROBE,
    "key_is_gone": key_is_gone.PROBE,
    "leader_from_isr": leader_from_isr.PROBE,
    "last_known_is_replica": last_known_is_replica.PROBE,
    "leader_is": leader_is.PROBE,
    "leader_is_preferred": leader_is_preferred.PROBE,
    "log_tails_known": log_tails_known.PROBE,
    "member_holds_rebalance": member_holds_rebalance.PROBE,
    "member_is_gone": member_is_gone.PROBE,
    "min_isr_satisfied": min_isr_satisfied.PROBE,
    "no_foreign_reassignment": no_foreign_reassignment.PROBE,
    "no_open_transactions": no_open_transactions.PROBE,
    "no_pending_offset": no_pending_offset.PROBE,
    "no_reassignment": no_reassignment.PROBE,
    "no_throttles": no_throttles.PROBE,
    "no_unclean_at_start": no_unclean_at_start.PROBE,
    "offsets_are": offsets_are.PROBE,
    "offsets_at_least": offsets_at_least.PROBE,
    "offsets_in_log": offsets_in_log.PROBE,
    "partition_has_leader": partition_has_leader.PROBE,
    "partition_has_live_isr": partition_has_live_isr.PROBE,
    "preferred_is": preferred_is.PROBE,
    "reelection_is_safe": reelection_is_safe.PROBE,
    "rf_is": rf_is.PROBE,
    "room_for": room_for.PROBE,
    "stable_offset_free": stable_offset_free.PROBE,
    "throttles_are": throttles_are.PROBE,
    "topic_in_sync": topic_in_sync.PROBE,
    "topic_isr_at_least": topic_isr_at_least.PROBE,
    "transaction_ended": transaction_ended.PROBE,
    "transaction_is_open": transaction_is_open.PROBE,
    "unclean_winner_is": unclean_winner_is.PROBE,
    "unclean_winner_leads": unclean_winner_leads.PROBE,
    "views_agree": views_agree.PROBE,
}


def ask(call: CheckCall, reader: ClusterReader) -> Answer:
    """Asks one probe. A source that does not answer makes the answer inconclusive; any other exception is a bug."""
    try:
        return ALL[call.check].ask(call.args, reader)
    except UnreachableError as error:
        return Answer(Verdict.INCONCLUSIVE, str(error), ALL[call.check].summary)
