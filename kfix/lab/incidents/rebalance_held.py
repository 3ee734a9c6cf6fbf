"""A member of a group does not join again after another one came: the group does not leave its rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.lab.incidents.setup.incident import Incident
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    number = context.int_option("partition") or 0
    context.require(number in groups.by_partition, f"{OFFSETS_TOPIC} has a partition {number}")
    group = groups.by_partition[number]
    leader = context.live_state(OFFSETS_TOPIC, number).leader
    instance = context.options.get("instance", "")
    held = context.hold_rebalance(group, leader, groups.topic, 3, instance)
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, number)],
        details={"member": held, "instance": instance, "coordinator": leader},
    )


INCIDENT = Incident(
    name="rebalance-held",
    title="one member holds its group in a rebalance",
    does="One member joins a group and stops; when another one joins, the coordinator waits 30 minutes for the first.",
    expect=(
        "no member of the group gets a record; the group stays in PreparingRebalance",
        "every coordinator responds",
    ),
    run=run,
    options={
        "partition": "which partition of the offsets topic has the group (0)",
        "instance": "group.instance.id of that member (none: a dynamic member)",
    },
)
