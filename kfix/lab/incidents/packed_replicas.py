"""B3: replicas packed on too few brokers. P0 on [a, b], P1 on [b, c]; a and b die."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.incident import Incident
from kfix.lab.slow import fall_behind, lift_throttle
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"


def run(stage: Stage) -> Broken:
    groups = stage.content()
    controller = wait_for("there is a controller", stage.access.controller, 10)
    # The third is not the controller: frozen it would hold up every other change of an ISR.
    first, second, third = sorted(stage.ids(), key=lambda each: each != controller)[:3]
    stage.topic(TOPIC, [[first, second], [second, third]])
    fall_behind(stage, [TopicPartition(TOPIC, 1)], (third,))
    stage.kill(first, second)
    for number in (0, 1):
        stage.wait_state(TOPIC, number, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
        stage.wait_leaderless_everywhere(TOPIC, number)
    lift_throttle(stage, [TOPIC], [third])
    stage.require(stage.live_state(TOPIC, 1).isr == (second,), f"{third} is outside the isr of {TOPIC}-1")
    stage.wait_groups(groups, groups.by_partition)
    stage.say(f"checked: {TOPIC}-0 has no living replica, {TOPIC}-1 only {third}, outside the isr; groups work")
    return stage.broken(
        INCIDENT.name,
        (
            f"{TOPIC}-0: nothing but starting {first} or {second} helps",
            f"{TOPIC}-1: {third} lives but lags",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)],
        dead=[first, second],
    )


INCIDENT = Incident(
    name="packed-replicas",
    title="B3: the replicas of a topic are packed on too few brokers",
    does="Places two partitions on overlapping pairs of brokers, makes one replica lag, kills two brokers.",
    expect=("topics spread over all brokers survive the same two deaths",),
    run=run,
)
