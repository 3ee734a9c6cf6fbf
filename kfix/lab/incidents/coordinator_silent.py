"""Every broker names a leader of an offsets partition, and that broker answers NOT_COORDINATOR.

The lab writes the state and notifies the controller, which reads it again and sends UpdateMetadata to every broker, but
no LeaderAndIsr: the broker that all name never becomes leader. The former leader continues, and no client asks it.
"""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import NOT_COORDINATOR, NOT_LEADER
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import ZNODES, Incident, IncidentOutcome
from kfix.lab.waiting import wait_for


@Incident(
    "coordinator-silent",
    title="an offsets partition has a leader, but the coordinator there does not answer",
    does="Writes another leader into the state of an offsets partition and makes the controller announce it.",
    expect=(
        "ZooKeeper and every broker agree on the leader; only a request to the coordinator shows the fault",
        "groups of other offsets partitions work",
    ),
    not_on={KRAFT: ZNODES},
    options={
        "partition": "which partition of the offsets topic (default: the first suitable one)",
        "leader": "which follower is written as leader (default: the first in-sync one)",
    },
)
def run(context: IncidentContext) -> IncidentOutcome:
    groups = context.groups
    where, leader, phantom = context.with_follower(context.int_option("leader"))
    group = groups.by_partition[where.partition]
    before = context.live_state(where)
    context.znodes.forge_state(*where, phantom, before.isr)
    context.znodes.poke(*where)
    context.report(
        f"wrote leader {phantom} into ZooKeeper's state of {where}, led by {leader}, and notified the controller"
    )
    for broker in context.lab.broker_ids:
        wait_for(
            f"broker {broker} names {phantom} as leader and as coordinator",
            lambda via=broker: (
                _named(context, where, via) == (phantom, before.leader_epoch + 1)  # type: ignore[misc]
                and groups.coordinator(where.partition, via) == (0, phantom)
            ),
            20,
        )
    answer, _ = groups.fetch(where.partition, phantom)
    context.require(
        answer == NOT_COORDINATOR, f"broker {phantom} answers group {group} with {NOT_COORDINATOR}: {answer}"
    )
    disowned = context.error_as_leader(phantom, where)
    context.require(disowned == NOT_LEADER, f"broker {phantom} answers {NOT_LEADER} for {where}: {disowned}")
    return IncidentOutcome(
        f"all brokers name {phantom}, which answers NOT_COORDINATOR to group {group}; other groups work",
        (f"consumers of group {group} hang: broker {phantom} is named as coordinator and refuses",),
        group=group,
        partitions=[where],
        details={"named": phantom, "led_before": leader, "leader_epoch": before.leader_epoch + 1},
        hung={where.partition},
    )


def _named(context: IncidentContext, where: TopicPartition, via: int) -> tuple[int, int] | None:
    seen = context.access.metadata(via)
    view = seen.partitions.get(where) if seen else None
    return (view.leader, view.leader_epoch) if view else None
