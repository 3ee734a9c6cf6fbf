"""A member of a group does not join again after another one came: the group does not leave its rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.group_reading import CLASSIC_GROUP, CONSUMER_GROUP
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    instance, modern = context.options.get("instance", ""), context.options.get("protocol") == CONSUMER_GROUP
    if modern and instance:
        raise UsageError("instance and protocol=consumer: the lab makes no static member of the consumer protocol")
    if modern:
        context.check_consumer_protocol()
    groups = context.content()
    number = context.int_option("partition") or 0
    context.require(number in groups.by_partition, f"{OFFSETS_TOPIC} has a partition {number}")
    group = groups.by_partition[number]
    leader = context.live_state(OFFSETS_TOPIC, number).leader
    if modern:
        held = context.hold_reconciling(group, leader, groups.topic)
    else:
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
        "no member of the group gets a record; the group stays in PreparingRebalance (consumer protocol: Reconciling)",
        "every coordinator responds",
    ),
    run=run,
    options={
        "partition": "which partition of the offsets topic has the group (0)",
        "instance": "group.instance.id of that member (none: a dynamic member; classic protocol only)",
        "protocol": "classic or consumer (KIP-848, Kafka 4 only)",
    },
    choices={"protocol": (CLASSIC_GROUP, CONSUMER_GROUP)},
)
