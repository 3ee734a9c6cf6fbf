"""Every question a runbook may ask, by hand: a diff of this file shows a new one."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.errors import UnreachableError
from kfix.model.plan import CheckCall
from kfix.model.verdict import Answer, Verdict
from kfix.ports import ClusterReader
from kfix.probes import (
    cluster_reachable,
    controller_reelected,
    coordinator_answers,
    isr_full,
    isr_holds_leader_log,
    leader_from_isr,
    no_reassignment,
    partition_has_leader,
    partition_has_live_isr,
    views_agree,
)
from kfix.probes.base import Probe

ALL: Mapping[str, Probe] = {
    "cluster_reachable": cluster_reachable.PROBE,
    "controller_reelected": controller_reelected.PROBE,
    "coordinator_answers": coordinator_answers.PROBE,
    "isr_full": isr_full.PROBE,
    "isr_holds_leader_log": isr_holds_leader_log.PROBE,
    "leader_from_isr": leader_from_isr.PROBE,
    "no_reassignment": no_reassignment.PROBE,
    "partition_has_leader": partition_has_leader.PROBE,
    "partition_has_live_isr": partition_has_live_isr.PROBE,
    "views_agree": views_agree.PROBE,
}


def ask(call: CheckCall, reader: ClusterReader) -> Answer:
    """A source that does not answer makes the answer inconclusive; any other exception is a mistake in kfix."""
    try:
        return ALL[call.check].ask(call.args, reader)
    except UnreachableError as error:
        return Answer(Verdict.INCONCLUSIVE, str(error), ALL[call.check].summary)
