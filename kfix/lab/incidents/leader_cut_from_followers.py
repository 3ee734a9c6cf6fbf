"""The leader is cut from all its followers: either they leave the ISR, or another broker becomes leader."""

from __future__ import annotations

from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, assign_roles
from kfix.lab.incidents.zone_isolated import isolated


@Incident(
    "leader-cut-from-followers",
    title="the leader is cut from its followers: they leave the ISR, or another broker leads",
    does="Drops Kafka's packets between the controller's zone, which leads, and others; or isolates a leader's zone.",
    expect=(
        "followers dropped: the leader is the only in-sync replica and accepts acks=all while min.insync.replicas is 1",
        "leader moved: two leaders; records that only the old leader has are truncated when it returns",
        "the ISR recovers by itself once the network is healed",
    ),
    zones=True,
    options={
        "outcome": "followers-dropped (default) or leader-moved",
        "acks": "acks of the writer in the isolated zone: 1 (default), 0 or all",
    },
    choices={"outcome": ("followers-dropped", "leader-moved"), "acks": ("1", "0", "all")},
)
def run(context: IncidentContext) -> IncidentOutcome:
    if context.options["outcome"] == "leader-moved":
        return isolated(context, with_controller=False, with_leader=True)
    roles = assign_roles(context)
    leader = roles.controller  # it reaches ZooKeeper, or the controller, so it can remove its followers from the ISR
    kraft = context.lab.quorum is not None
    # On KRaft only writes in both directions show that it is the leader that is cut off.
    partitions = roles.ledger(leader, *((roles.one, roles.other) if kraft else ()))
    writer = roles.write_from(leader, 14)
    if kraft:
        roles.write_from(roles.one, 14)
    roles.isolate(leader, "brokers" if kraft else "kafka")
    context.wait_state(FIRST, f"its ISR is [{leader}]", lambda each: each.isr == (leader,), SEEN_SECONDS)
    for each in partitions[1:]:
        context.wait_state(each, f"{leader} left its ISR", lambda state: leader not in state.isr, SEEN_SECONDS)
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    context.require(context.access.controller() == roles.active, f"node {roles.active} is the controller still")
    return IncidentOutcome(
        f"broker {leader} is the only in-sync replica of {TOPIC}-0; all brokers are registered",
        partitions=partitions,
        details={"leader": leader, "zone": roles.zone(leader), "writer_inside": writer},
        hung=None,
    )
