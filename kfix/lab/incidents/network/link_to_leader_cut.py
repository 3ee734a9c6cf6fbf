"""C1: a follower and a leader do not reach each other; ZooKeeper, the controller and the third zone are fine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.incident import Incident
from kfix.lab.incidents.network.cast import SEEN_SECONDS, TOPIC, cast

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage


def run(stage: Stage) -> Broken:
    groups = stage.content()
    actors = cast(stage)
    leader, follower = actors.one, actors.other
    partitions = actors.ledger(leader, follower, actors.controller)
    inside = actors.write_from(follower, 14, acks="all", retries=1)
    outside = actors.write_from(actors.controller, 14)
    actors.cut(leader, follower, "kafka")
    stage.wait_state(TOPIC, 0, f"{follower} left its isr", lambda each: follower not in each.isr, SEEN_SECONDS)
    stage.wait_state(TOPIC, 1, f"{leader} left its isr", lambda each: leader not in each.isr, SEEN_SECONDS)
    stage.require(set(stage.live_state(TOPIC, 2).isr) == set(stage.ids()), "the third broker has all in sync")
    stage.require(stage.access.live_ids() == frozenset(stage.ids()), "all brokers are registered")
    stage.say(f"checked: the isr of {TOPIC}-0 lacks {follower}, that of {TOPIC}-1 lacks {leader}, all else is whole")
    return stage.broken(
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
