"""A group has committed an offset that is above the end of the log: its consumers start at auto.offset.reset."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import RECORDS
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome

_BEYOND = 50


@Incident(
    "offset-outside-log",
    title="a committed offset is above the end of the log",
    does="Commits an offset for a group that is 50 records above the end of the log, as after a lost log.",
    expect=(
        "a consumer of the group gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides where it starts",
        "every coordinator responds",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    number = context.offsets_partition().partition
    where, group, offset = TopicPartition(groups.topic, 0), groups.by_partition[number], RECORDS + _BEYOND
    context.require(groups.commit(number, {where: offset}) == 0, f"group {group} commits offset {offset}")
    context.report(f"group {group} committed offset {offset} of {where}, whose log ends at {RECORDS}")
    return IncidentOutcome(
        "all coordinators respond",
        group=group,
        partitions=[where],
        details={"committed": offset, "log_end": RECORDS},
    )
