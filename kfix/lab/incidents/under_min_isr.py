"""Fewer in-sync replicas than min.insync.replicas: there is a leader, consumers read, acks=all fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    controller = wait_for("there is a controller", context.access.controller, 10)
    first, second, survivor = sorted(context.ids(), key=lambda each: each == controller)[-3:]
    context.topic(TOPIC, [[first, second, survivor], [second, survivor, first]], {"min.insync.replicas": "2"})
    context.kill(first, second)
    for number in (0, 1):
        context.wait_state(
            TOPIC, number, f"isr [{survivor}]", lambda each: each.isr == (survivor,) and each.leader == survivor
        )

    def refused() -> bool:
        return context.access.produce_error(TOPIC, 0, "all") == "NOT_ENOUGH_REPLICAS"

    # The leader learns of the smaller ISR a moment after ZooKeeper; until then it answers REQUEST_TIMED_OUT.
    wait_for("acks=all is refused for want of replicas", refused, 30)
    context.require(context.access.readable(TOPIC, 0), f"{TOPIC}-0 can still be read")
    context.wait_groups(groups, groups.by_partition)
    context.report(f"checked: acks=all on {TOPIC} meets NOT_ENOUGH_REPLICAS, reading works, groups work")
    return context.broken(
        INCIDENT.name,
        (f"{TOPIC}: isr [{survivor}], min.insync.replicas 2", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)],
        dead=[first, second],
    )


INCIDENT = Incident(
    name="under-min-isr",
    title="a topic has fewer in-sync replicas than min.insync.replicas",
    does="Creates a topic with min.insync.replicas=2 and kills two of its three replicas.",
    expect=(
        "producers with acks=all fail, with acks=1 they work; consumers read",
        "no election helps: there is a leader",
    ),
    run=run,
)
