"""The producer of an open transaction has died: consumers with isolation.level=read_committed get nothing behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.healing.offsets import TRANSACTIONAL_ID
from kfix.lab.incidents.setup.content import RECORDS, records
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    number = context.int_option("partition") or 0
    where = TopicPartition(groups.topic, 0)
    context.require(number in groups.by_partition, f"{OFFSETS_TOPIC} has a partition {number}")
    group = groups.by_partition[number]
    context.require(groups.commit(number, {where: RECORDS}) == 0, f"group {group} commits offset {RECORDS}")
    context.access.hang_transaction(TRANSACTIONAL_ID, where)
    context.access.produce(where.topic, {where.partition: records(where.topic, where.partition)})
    context.report(f"producer {TRANSACTIONAL_ID} wrote to {where} and left its transaction open; others wrote after it")

    high = 2 * RECORDS + 1
    context.wait_stable(where, RECORDS, high)
    context.wait_groups(groups, groups.by_partition)
    context.report(f"checked: the last stable offset of {where} is {RECORDS}, its high watermark {high}")
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=group,
        topic=where.topic,
        partitions=[where],
        details={"transactional_id": TRANSACTIONAL_ID, "stable": RECORDS, "high_watermark": high},
    )


INCIDENT = Incident(
    name="open-transaction",
    title="a transaction that does not end holds back the last stable offset",
    does="Writes a record within a transaction of 15 minutes, leaves it without commit or abort, and writes 20 more.",
    expect=(
        "a consumer with isolation.level=read_committed gets none of the 20 records and no error",
        "every coordinator responds, and a consumer with read_uncommitted reads everything",
    ),
    run=run,
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
