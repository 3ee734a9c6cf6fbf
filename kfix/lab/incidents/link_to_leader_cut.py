"""A follower and a leader do not reach each other; ZooKeeper, the controller and the third zone are fine."""

from __future__ import annotations

from kfix.lab.incidents.setup.content import TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.roles import SEEN_SECONDS, assign_roles


@Incident(
    "link-to-leader-cut",
    title="the link between a leader and a follower is cut",
    does="Drops Kafka's packets between two zones, neither with the controller; writes from both sides.",
    expect=(
        "leaders and controller stay; each of the two removes the other from the ISR of its partitions",
        "only repairing the network helps; change nothing in Kafka",
    ),
    zones=True,
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = assign_roles(context)
    leader, follower = roles.one, roles.other
    partitions = roles.ledger(leader, follower, roles.controller)
    inside = roles.write_from(follower, 14, acks="all", retries=1)
    outside = roles.write_from(roles.controller, 14)
    roles.cut(leader, follower, "kafka" if context.lab.quorum is None else "brokers")
    first, second, third = partitions
    context.wait_state(first, f"{follower} left its isr", lambda each: follower not in each.isr, SEEN_SECONDS)
    context.wait_state(second, f"{leader} left its isr", lambda each: leader not in each.isr, SEEN_SECONDS)
    context.require(set(context.live_state(third).isr) == set(context.ids()), "the third broker has all in sync")
    context.require(context.access.live_ids() == frozenset(context.ids()), "all brokers are registered")
    return IncidentOutcome(
        f"the ISR of {TOPIC}-0 lacks {follower}, that of {TOPIC}-1 lacks {leader}; all others are full",
        (
            f"clients in {roles.zone(follower)} cannot use {TOPIC}-0",
            f"clients in {roles.zone(leader)} cannot use {TOPIC}-1",
        ),
        partitions=partitions,
        details={"leader": leader, "follower": follower, "inside": inside, "outside": outside},
        hung=None,
    )
