"""The replicas of a topic are on too few brokers: partition 0 on [a, b], partition 1 on [b, c]; a and b die."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle

_SECOND = TopicPartition(TOPIC, 1)


@Incident(
    "packed-replicas",
    title="the replicas of a topic are on too few brokers, and two of these die",
    does="Places two partitions on overlapping pairs of brokers, makes one replica lag, kills two brokers.",
    expect=("topics spread over all brokers survive the same two deaths",),
)
def run(context: IncidentContext) -> IncidentOutcome:
    # The third is not the controller: frozen it would hold up every other change of an ISR.
    first, second, third = context.controller_first()[:3]
    context.topic(TOPIC, [[first, second], [second, third]])
    fall_behind(context, [_SECOND], (third,))
    context.kill(first, second)
    for each in (FIRST, _SECOND):
        context.wait_state(each, "no recorded leader", lambda state: state.leader == -1)
        context.wait_leaderless_everywhere(each)
    lift_throttle(context, [TOPIC], [third])
    context.require(context.live_state(_SECOND).heirs == (second,), f"{third} is outside the isr of {_SECOND}")
    return IncidentOutcome(
        f"{TOPIC}-0 has no live replica, {TOPIC}-1 only {third}, outside the ISR; groups work",
        (
            f"{TOPIC}-0: only starting {first} or {second} helps",
            f"{TOPIC}-1: {third} is alive but lags",
        ),
        partitions=[FIRST, _SECOND],
        dead=[first, second],
    )
