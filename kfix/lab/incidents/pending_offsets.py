"""The producer of an open transaction with offsets of a group has died: the group waits until the transaction ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.healing.offsets import TRANSACTIONAL_ID
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

_OFFSET = 5


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    number = context.int_option("partition") or 0
    where, group = TopicPartition(groups.topic, 0), groups.by_partition.get(number)
    context.require(group is not None, f"{OFFSETS_TOPIC} has a partition {number}")
    assert group is not None
    context.access.hang_transaction(TRANSACTIONAL_ID, where, group, _OFFSET)
    context.report(f"producer {TRANSACTIONAL_ID} sent an offset of {group} into its transaction and left it open")

    wait_for(f"group {group} is refused its offset of {where}", lambda: groups.refused(number, where), 15)
    context.wait_groups(groups, groups.by_partition)
    context.report(f"checked: OffsetFetch refuses {group} the stable offset of {where}; all coordinators respond")
    return context.broken(
        INCIDENT.name,
        (f"consumers of group {group} get no record and no error", *INCIDENT.expect),
        group=group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, number)],
        details={"transactional_id": TRANSACTIONAL_ID, "pending": str(where)},
    )


INCIDENT = Incident(
    name="pending-offsets",
    title="a group waits for a transaction that does not end",
    does="Sends an offset of a group within a transaction of 15 minutes, and leaves it without commit or abort.",
    expect=(
        "every coordinator responds; only a request for stable offsets of named partitions shows the fault",
        "other groups work",
    ),
    run=run,
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
