"""The replicas of a topic are on too few brokers: partition 0 on [a, b], partition 1 on [b, c]; a and b die."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    controller = wait_for("there is a controller", context.access.controller, 10)
    # The third is not the controller: frozen it would hold up every other change of an ISR.
    first, second, third = sorted(context.ids(), key=lambda each: each != controller)[:3]
    context.topic(TOPIC, [[first, second], [second, third]])
    fall_behind(context, [TopicPartition(TOPIC, 1)], (third,))
    context.kill(first, second)
    for number in (0, 1):
        context.wait_state(TOPIC, number, "no recorded leader", lambda each: each.leader == -1)
        context.wait_leaderless_everywhere(TOPIC, number)
    lift_throttle(context, [TOPIC], [third])
    context.require(context.live_state(TOPIC, 1).heirs == (second,), f"{third} is outside the isr of {TOPIC}-1")
    context.wait_groups(groups, groups.by_partition)
    context.report(f"checked: {TOPIC}-0 has no live replica, {TOPIC}-1 only {third}, outside the ISR; groups work")
    return context.broken(
        INCIDENT.name,
        (
            f"{TOPIC}-0: only starting {first} or {second} helps",
            f"{TOPIC}-1: {third} is alive but lags",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)],
        dead=[first, second],
    )


INCIDENT = Incident(
    name="packed-replicas",
    title="the replicas of a topic are on too few brokers, and two of these die",
    does="Places two partitions on overlapping pairs of brokers, makes one replica lag, kills two brokers.",
    expect=("topics spread over all brokers survive the same two deaths",),
    run=run,
)
