"""E1: the leader is cut from all its followers, and one of two things happens: they are dropped, or another leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.isolation import isolated
from kfix.lab.incidents.network.roles import SEEN_SECONDS, TOPIC, cast
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    if context.options["outcome"] == "leader-moved":
        return isolated(context, INCIDENT, with_controller=False, with_leader=True)
    groups = context.content()
    actors = cast(context)
    leader = actors.controller  # it can still write what it wants into ZooKeeper, so it drops its followers
    partitions = actors.ledger(leader)
    writer = actors.write_from(leader, 14)
    actors.isolate(leader, "kafka")
    context.wait_state(TOPIC, 0, f"its isr is [{leader}]", lambda each: each.isr == (leader,), SEEN_SECONDS)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == leader, f"broker {leader} is controller still")
    context.say(f"checked: broker {leader} leads {TOPIC}-0 alone, all are registered")
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=partitions,
        details={"leader": leader, "zone": actors.zone(leader), "writer_inside": writer},
    )


INCIDENT = Incident(
    name="leader-cut-from-followers",
    title="E1: the leader is cut from its followers: they are dropped, or another one leads",
    does="Drops Kafka's packets between the others and the controller's zone, which leads; or isolates a leading zone.",
    expect=(
        "followers dropped: the leader stays, alone in its isr, and takes acks=all while min.insync.replicas is 1",
        "leader moved: two leaders, and what only the old one took is cut off when it returns",
        "the isr is whole again by itself once the network is mended",
    ),
    run=run,
    zones=True,
    options={
        "outcome": "followers-dropped (that) or leader-moved",
        "acks": "what the writer in the isolated zone waits for: 1 (that), 0 or all",
    },
    choices={"outcome": ("followers-dropped", "leader-moved"), "acks": ("1", "0", "all")},
)
