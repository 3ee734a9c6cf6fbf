"""Fewer in-sync replicas than min.insync.replicas: there is a leader, consumers read, acks=all fails."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for


@Incident(
    "under-min-isr",
    title="a topic has fewer in-sync replicas than min.insync.replicas",
    does="Creates a topic with min.insync.replicas=2 and kills two of its three replicas.",
    expect=(
        "producers with acks=all fail, with acks=1 they work; consumers read",
        "no election helps: there is a leader",
    ),
)
def run(context: IncidentContext) -> IncidentOutcome:
    survivor, *others = context.controller_first()
    first, second = others[-2:]
    context.topic(TOPIC, [[first, second, survivor], [second, survivor, first]], {"min.insync.replicas": "2"})
    context.kill(first, second)
    partitions = [FIRST, TopicPartition(TOPIC, 1)]
    for each in partitions:
        context.wait_state(
            each, f"isr [{survivor}]", lambda state: state.isr == (survivor,) and state.leader == survivor
        )

    def refused() -> bool:
        return context.access.produce_error(TOPIC, 0, "all") == "NOT_ENOUGH_REPLICAS"

    # The leader learns of the smaller ISR a moment after ZooKeeper; until then it answers REQUEST_TIMED_OUT.
    wait_for("acks=all is refused for want of replicas", refused, 30)
    context.require(context.access.readable(*FIRST), f"{FIRST} can still be read")
    return IncidentOutcome(
        f"acks=all on {TOPIC} meets NOT_ENOUGH_REPLICAS, reading works, groups work",
        (f"{TOPIC}: isr [{survivor}], min.insync.replicas 2",),
        partitions=partitions,
        dead=[first, second],
    )
