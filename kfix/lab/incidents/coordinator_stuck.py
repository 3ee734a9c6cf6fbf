"""The leader recorded in ZooKeeper dies; the partition has no leader, and the controller elects none.

The controller believes that the leader is another, living broker, so it only takes the dead one out of the ISR. It
re-reads ZooKeeper for that, finds the dead one as leader and writes leader -1; but in its memory the partition never
went offline, so no election follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents import metadata_divergence
from kfix.lab.incidents.setup.incident import ZNODES, Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    diverged, groups = metadata_divergence.diverge(context)
    context.kill(diverged.written)
    state = context.wait_state(
        OFFSETS_TOPIC, diverged.partition, "leader -1 in ZooKeeper", lambda each: each.leader == -1
    )
    context.require(state.isr == diverged.survivors, f"its ISR is {list(diverged.survivors)}, all alive")
    context.wait_leaderless_everywhere(OFFSETS_TOPIC, diverged.partition)
    context.report(
        f"{OFFSETS_TOPIC}-{diverged.partition} has leader -1 and isr {list(state.isr)} in ZooKeeper and at every broker"
    )
    context.wait_groups(groups, [number for number in groups.by_partition if number != diverged.partition])
    for broker in context.access.live_ids():
        wait_for(
            f"broker {broker} knows no coordinator for {diverged.group}",
            lambda via=broker: groups.coordinator(diverged.partition, via)[0] == COORDINATOR_NOT_AVAILABLE,  # type: ignore[misc]
            15,
        )
    context.require(context.live_state(OFFSETS_TOPIC, diverged.partition).leader == -1, "it stays without a leader")
    context.report(
        f"checked: no broker names a coordinator for group {diverged.group}; groups of other partitions work"
    )
    return context.broken(
        INCIDENT.name,
        (
            f"consumers of group {diverged.group} hang",
            f"in-sync replica {state.isr[0]} is alive, so an election loses no data",
            *INCIDENT.expect,
        ),
        group=diverged.group,
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, diverged.partition)],
        dead=[diverged.written],
    )


INCIDENT = Incident(
    name="coordinator-stuck",
    title="an offsets partition has no leader, although an in-sync replica is alive",
    does="Does what metadata-divergence does, then kills the broker that ZooKeeper names as leader.",
    expect=(
        "groups of other offsets partitions work; OfflinePartitionsCount stays 0, so no alert fires",
        "starting the dead broker again does not heal it",
    ),
    run=run,
    not_on={KRAFT: ZNODES},
    options=metadata_divergence.OPTIONS,
)
