"""Every question a runbook may ask, by hand: a diff of this file shows a new one."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.errors import UnreachableError
from kfix.model.plan import CheckCall
from kfix.model.verdict import Answer, Verdict
from kfix.ports import ClusterReader
from kfix.probes import (
    assignment_is,
    brokers_live_at_least,
    brokers_registered,
    cancel_is_safe,
    cluster_reachable,
    config_is,
    controller_is,
    controller_reelected,
    coordinator_answers,
    free_space,
    isr_at_least,
    isr_full,
    isr_holds_leader_log,
    isr_is_dead,
    leader_from_isr,
    leader_is,
    leader_is_preferred,
    log_tails_known,
    min_isr_satisfied,
    no_foreign_reassignment,
    no_open_transactions,
    no_reassignment,
    no_throttles,
    partition_has_leader,
    partition_has_live_isr,
    preferred_is,
    rf_is,
    throttles_are,
    unclean_winner_is,
    views_agree,
)
from kfix.probes.base import Probe

ALL: Mapping[str, Probe] = {
    "assignment_is": assignment_is.PROBE,
    "brokers_live_at_least": brokers_live_at_least.PROBE,
    "brokers_registered": brokers_registered.PROBE,
    "cancel_is_safe": cancel_is_safe.PROBE,
    "cluster_reachable": cluster_reachable.PROBE,
    "config_is": config_is.PROBE,
    "controller_is": controller_is.PROBE,
    "controller_reelected": controller_reelected.PROBE,
    "coordinator_answers": coordinator_answers.PROBE,
    "free_space": free_space.PROBE,
    "isr_at_least": isr_at_least.PROBE,
    "isr_full": isr_full.PROBE,
    "isr_holds_leader_log": isr_holds_leader_log.PROBE,
    "isr_is_dead": isr_is_dead.PROBE,
    "leader_from_isr": leader_from_isr.PROBE,
    "leader_is": leader_is.PROBE,
    "leader_is_preferred": leader_is_preferred.PROBE,
    "log_tails_known": log_tails_known.PROBE,
    "min_isr_satisfied": min_isr_satisfied.PROBE,
    "no_foreign_reassignment": no_foreign_reassignment.PROBE,
    "no_open_transactions": no_open_transactions.PROBE,
    "no_reassignment": no_reassignment.PROBE,
    "no_throttles": no_throttles.PROBE,
    "partition_has_leader": partition_has_leader.PROBE,
    "partition_has_live_isr": partition_has_live_isr.PROBE,
    "preferred_is": preferred_is.PROBE,
    "rf_is": rf_is.PROBE,
    "throttles_are": throttles_are.PROBE,
    "unclean_winner_is": unclean_winner_is.PROBE,
    "views_agree": views_agree.PROBE,
}


def ask(call: CheckCall, reader: ClusterReader) -> Answer:
    """A source that does not answer makes the answer inconclusive; any other exception is a mistake in kfix."""
    try:
        return ALL[call.check].ask(call.args, reader)
    except UnreachableError as error:
        return Answer(Verdict.INCONCLUSIVE, str(error), ALL[call.check].summary)
