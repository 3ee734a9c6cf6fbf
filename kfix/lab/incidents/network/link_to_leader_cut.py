"""C1: a follower and a leader do not reach each other; ZooKeeper, the controller and the third zone are fine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.roles import SEEN_SECONDS, TOPIC, cast
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    actors = cast(context)
    leader, follower = actors.one, actors.other
    partitions = actors.ledger(leader, follower, actors.controller)
    inside = actors.write_from(follower, 14, acks="all", retries=1)
    outside = actors.write_from(actors.controller, 14)
    actors.cut(leader, follower, "kafka")
    context.wait_state(TOPIC, 0, f"{follower} left its isr", lambda each: follower not in each.isr, SEEN_SECONDS)
    context.wait_state(TOPIC, 1, f"{leader} left its isr", lambda each: leader not in each.isr, SEEN_SECONDS)
    context.require(set(context.live_state(TOPIC, 2).isr) == set(context.ids()), "the third broker has all in sync")
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.say(f"checked: the isr of {TOPIC}-0 lacks {follower}, that of {TOPIC}-1 lacks {leader}, all else is whole")
    return context.broken(
        INCIDENT.name,
        (
            f"clients in {actors.zone(follower)} cannot use {TOPIC}-0",
            f"clients in {actors.zone(leader)} cannot use {TOPIC}-1",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=partitions,
        details={"leader": leader, "follower": follower, "inside": inside, "outside": outside},
    )


INCIDENT = Incident(
    name="link-to-leader-cut",
    title="C1: the link between a leader and a follower is cut",
    does="Drops Kafka's packets between two zones, neither with the controller; writes from both sides.",
    expect=(
        "leaders and controller stay; the isr of what the two lead shrinks, each without the other",
        "nothing helps but the network, and nothing is to be done to Kafka",
    ),
    run=run,
    zones=True,
)
