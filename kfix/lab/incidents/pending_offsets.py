"""The producer of an open transaction with offsets of a group has died: the group waits until the transaction ends."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.healing.offsets import TRANSACTIONAL_ID
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

_OFFSET = 5


@Incident(
    "pending-offsets",
    title="a group waits for a transaction that does not end",
    does="Sends an offset of a group within a transaction of 15 minutes, and leaves it without commit or abort.",
    expect=(
        "every coordinator responds; only a request for stable offsets of named partitions shows the fault",
        "other groups work",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    committed_in = context.offsets_partition()
    number, where = committed_in.partition, TopicPartition(groups.topic, 0)
    group = groups.by_partition[number]
    context.access.hang_transaction(TRANSACTIONAL_ID, where, group, _OFFSET)
    context.report(f"producer {TRANSACTIONAL_ID} sent an offset of {group} into its transaction and left it open")

    wait_for(f"group {group} is refused its offset of {where}", lambda: groups.refused(number, where), 15)
    return IncidentOutcome(
        f"OffsetFetch refuses {group} the stable offset of {where}; all coordinators respond",
        (f"consumers of group {group} get no record and no error",),
        group=group,
        partitions=[committed_in],
        details={"transactional_id": TRANSACTIONAL_ID, "pending": str(where)},
    )
