"""Every broker names a leader of an offsets partition, and that broker answers NOT_COORDINATOR.

The lab writes the state and notifies the controller, which reads it again and sends UpdateMetadata to every broker, but
no LeaderAndIsr: the broker that all name never becomes leader. The former leader continues, and no client asks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import NOT_COORDINATOR, NOT_LEADER
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.setup.incident import ZNODES, Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    where, leader, phantom = _choose(context)
    group = groups.by_partition[where.partition]
    before = context.live_state(*where)
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
    context.wait_groups(groups, [number for number in groups.by_partition if number != where.partition])
    context.report(
        f"checked: all brokers name {phantom}, which answers NOT_COORDINATOR to group {group}; other groups work"
    )
    return context.broken(
        INCIDENT.name,
        (
            f"consumers of group {group} hang: broker {phantom} is named as coordinator and refuses",
            *INCIDENT.expect,
        ),
        group=group,
        topic=OFFSETS_TOPIC,
        partitions=[where],
        details={"named": phantom, "led_before": leader, "leader_epoch": before.leader_epoch + 1},
    )


def _choose(context: IncidentContext) -> tuple[TopicPartition, int, int]:
    wanted, asked = context.int_option("partition"), context.int_option("leader")
    for number in context.access.assignment(OFFSETS_TOPIC):
        state = context.live_state(OFFSETS_TOPIC, number)
        others = [each for each in state.isr if each != state.leader and asked in {None, each}]
        if others and wanted in {None, number}:
            return TopicPartition(OFFSETS_TOPIC, number), state.leader, others[0]
    raise UsageError(
        f"no such partition of {OFFSETS_TOPIC} has such an in-sync follower", hint="kfix lab up --offsets-rf 3"
    )


def _named(context: IncidentContext, where: TopicPartition, via: int) -> tuple[int, int] | None:
    seen = context.access.metadata(via)
    view = seen.partitions.get(where) if seen else None
    return (view.leader, view.leader_epoch) if view else None


INCIDENT = Incident(
    name="coordinator-silent",
    title="an offsets partition has a leader, but the coordinator there does not answer",
    does="Writes another leader into the state of an offsets partition and makes the controller announce it.",
    expect=(
        "ZooKeeper and every broker agree on the leader; only a request to the coordinator shows the fault",
        "groups of other offsets partitions work",
    ),
    run=run,
    not_on={KRAFT: ZNODES},
    options={
        "partition": "which partition of the offsets topic (default: the first suitable one)",
        "leader": "which follower is written as leader (default: the first in-sync one)",
    },
)
