"""A member of a group does not join again after another one came: the group does not leave its rebalance."""

from __future__ import annotations

from kfix.core.errors import UsageError
from kfix.core.snapshot.group_reading import CLASSIC_GROUP, CONSUMER_GROUP
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome


def _is_modern(context: IncidentContext) -> bool:
    return context.options.get("protocol") == CONSUMER_GROUP


def _refuse(context: IncidentContext) -> None:
    if not _is_modern(context):
        return
    if context.options.get("instance"):
        raise UsageError("instance and protocol=consumer: the lab makes no static member of the consumer protocol")
    context.check_consumer_protocol()


@Incident(
    "rebalance-held",
    title="one member holds its group in a rebalance",
    does="One member joins a group and stops; when another one joins, the coordinator waits 30 minutes for the first.",
    expect=(
        "no member of the group gets a record; the group stays in PreparingRebalance (consumer protocol: Reconciling)",
        "every coordinator responds",
    ),
    options={
        "partition": "which partition of the offsets topic has the group (0)",
        "instance": "group.instance.id of that member (none: a dynamic member; classic protocol only)",
        "protocol": "classic or consumer (KIP-848, Kafka 4 only)",
    },
    choices={"protocol": (CLASSIC_GROUP, CONSUMER_GROUP)},
    refuse=_refuse,
)
def run(context: IncidentContext) -> IncidentOutcome:
    instance = context.options.get("instance", "")
    groups, where = context.groups, context.offsets_partition()
    group, leader = groups.by_partition[where.partition], context.live_state(where).leader
    if _is_modern(context):
        held = context.hold_reconciling(group, leader, groups.topic)
    else:
        held = context.hold_rebalance(group, leader, groups.topic, 3, instance)
    return IncidentOutcome(
        group=group,
        partitions=[where],
        details={"member": held, "instance": instance, "coordinator": leader},
        hung=None,
    )
