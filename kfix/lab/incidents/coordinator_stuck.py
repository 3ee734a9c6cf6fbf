"""A1 fallen: the leader named in ZooKeeper dies; the partition has no leader, and nobody elects one.

The controller believes that the leader is another, living broker, so it only takes the dead one out of the ISR. It
re-reads ZooKeeper for that, finds the dead one as leader and writes leader -1; but in its memory the partition never
went offline, so no election follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE
from kfix.lab.incidents import coordinator_latent
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    roles, groups = coordinator_latent.diverge(context)
    context.kill(roles.written)
    state = context.wait_state(OFFSETS_TOPIC, roles.partition, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
    context.require(state.isr == roles.survivors, f"its isr is {list(roles.survivors)}, all alive")
    context.wait_leaderless_everywhere(OFFSETS_TOPIC, roles.partition)
    context.say(
        f"{OFFSETS_TOPIC}-{roles.partition} has leader -1 and isr {list(state.isr)} in ZooKeeper and at every broker"
    )
    context.wait_groups(groups, [number for number in groups.by_partition if number != roles.partition])
    for broker in context.access.live_ids():
        wait_for(
            f"broker {broker} knows no coordinator for {roles.group}",
            lambda via=broker: groups.coordinator(roles.partition, via)[0] == COORDINATOR_NOT_AVAILABLE,  # type: ignore[misc]
            15,
        )
    context.require(context.live_state(OFFSETS_TOPIC, roles.partition).leader == -1, "it stays without a leader")
    context.say(f"checked: no broker names a coordinator for group {roles.group}; groups of other partitions work")
    return context.broken(
        INCIDENT.name,
        (
            f"consumers of group {roles.group} wait for ever",
            f"isr member {state.isr[0]} lives, so an election loses nothing",
            *INCIDENT.expect,
        ),
        group=roles.group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, roles.partition)],
        dead=[roles.written],
    )


INCIDENT = Incident(
    name="coordinator-stuck",
    title="A1: an offsets partition has no leader although a replica in sync lives",
    does="Does what coordinator-latent does, then kills the broker that ZooKeeper names as leader.",
    expect=(
        "groups of other offsets partitions work; OfflinePartitionsCount stays 0, so no alert fires",
        "starting the dead broker again does not heal it",
    ),
    run=run,
    options=coordinator_latent.OPTIONS,
)
