"""The producer of an open transaction has died: consumers with isolation.level=read_committed get nothing behind it."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.healing.offsets import TRANSACTIONAL_ID
from kfix.lab.incidents.setup.content import RECORDS, records
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome


@Incident(
    "open-transaction",
    title="a transaction that does not end holds back the last stable offset",
    does="Writes a record within a transaction of 15 minutes, leaves it without commit or abort, and writes 20 more.",
    expect=(
        "a consumer with isolation.level=read_committed gets none of the 20 records and no error",
        "every coordinator responds, and a consumer with read_uncommitted reads everything",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    number = context.offsets_partition().partition
    where = TopicPartition(groups.topic, 0)
    group = groups.by_partition[number]
    context.require(groups.commit(number, {where: RECORDS}) == 0, f"group {group} commits offset {RECORDS}")
    context.access.hang_transaction(TRANSACTIONAL_ID, where)
    context.access.produce(where.topic, {where.partition: records(where.topic, where.partition)})
    context.report(f"producer {TRANSACTIONAL_ID} wrote to {where} and left its transaction open; others wrote after it")

    high = 2 * RECORDS + 1
    context.wait_stable(where, RECORDS, high)
    return IncidentOutcome(
        f"the last stable offset of {where} is {RECORDS}, its high watermark {high}",
        group=group,
        partitions=[where],
        details={"transactional_id": TRANSACTIONAL_ID, "stable": RECORDS, "high_watermark": high},
    )
