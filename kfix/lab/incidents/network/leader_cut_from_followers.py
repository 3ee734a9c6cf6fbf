"""The leader is cut from all its followers: either they leave the ISR, or another broker becomes leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.network.isolation import isolated
from kfix.lab.incidents.network.roles import SEEN_SECONDS, TOPIC, assign_roles
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    if context.options["outcome"] == "leader-moved":
        return isolated(context, INCIDENT, with_controller=False, with_leader=True)
    groups = context.content()
    roles = assign_roles(context)
    leader = roles.controller  # it reaches ZooKeeper, or the controller, so it can remove its followers from the ISR
    kraft = context.lab.quorum is not None
    # On KRaft only writes in both directions show that it is the leader that is cut off.
    partitions = roles.ledger(leader, *((roles.one, roles.other) if kraft else ()))
    writer = roles.write_from(leader, 14)
    if kraft:
        roles.write_from(roles.one, 14)
    roles.isolate(leader, "brokers" if kraft else "kafka")
    context.wait_state(TOPIC, 0, f"its ISR is [{leader}]", lambda each: each.isr == (leader,), SEEN_SECONDS)
    for number in (1, 2) if kraft else ():
        context.wait_state(TOPIC, number, f"{leader} left its ISR", lambda each: leader not in each.isr, SEEN_SECONDS)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == roles.active, f"node {roles.active} is the controller still")
    context.report(f"checked: broker {leader} is the only in-sync replica of {TOPIC}-0; all brokers are registered")
    return context.broken(
        INCIDENT.name,
        INCIDENT.expect,
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=partitions,
        details={"leader": leader, "zone": roles.zone(leader), "writer_inside": writer},
    )


INCIDENT = Incident(
    name="leader-cut-from-followers",
    title="the leader is cut from its followers: they leave the ISR, or another broker leads",
    does="Drops Kafka's packets between the controller's zone, which leads, and others; or isolates a leader's zone.",
    expect=(
        "followers dropped: the leader is the only in-sync replica and accepts acks=all while min.insync.replicas is 1",
        "leader moved: two leaders; records that only the old leader has are truncated when it returns",
        "the ISR recovers by itself once the network is healed",
    ),
    run=run,
    zones=True,
    options={
        "outcome": "followers-dropped (default) or leader-moved",
        "acks": "acks of the writer in the isolated zone: 1 (default), 0 or all",
    },
    choices={"outcome": ("followers-dropped", "leader-moved"), "acks": ("1", "0", "all")},
)
