"""A group has committed an offset that is above the end of the log: its consumers start at auto.offset.reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

_BEYOND = 50


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    number = context.int_option("partition") or 0
    context.require(number in groups.by_partition, f"{OFFSETS_TOPIC} has a partition {number}")
    where, group, offset = TopicPartition(groups.topic, 0), groups.by_partition[number], RECORDS + _BEYOND
    context.require(groups.commit(number, {where: offset}) == 0, f"group {group} commits offset {offset}")
    context.report(f"group {group} committed offset {offset} of {where}, whose log ends at {RECORDS}")
    context.wait_groups(groups, groups.by_partition)
    context.report("checked: all coordinators respond")
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=group,
        topic=groups.topic,
        partitions=[where],
        details={"committed": offset, "log_end": RECORDS},
    )


INCIDENT = Incident(
    name="offset-outside-log",
    title="a committed offset is above the end of the log",
    does="Commits an offset for a group that is 50 records above the end of the log, as after a lost log.",
    expect=(
        "a consumer of the group gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides where it starts",
        "every coordinator responds",
    ),
    run=run,
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
