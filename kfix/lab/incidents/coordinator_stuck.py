"""The leader recorded in ZooKeeper dies; the partition has no leader, and the controller elects none.

The controller believes that the leader is another, living broker, so it only takes the dead one out of the ISR. It
re-reads ZooKeeper for that, finds the dead one as leader and writes leader -1; but in its memory the partition never
went offline, so no election follows.
"""

from __future__ import annotations

from kfix.lab.definition.recipes import KRAFT
from kfix.lab.incidents.metadata_divergence import OPTIONS, diverge
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import ZNODES, Incident, IncidentOutcome


@Incident(
    "coordinator-stuck",
    title="an offsets partition has no leader, although an in-sync replica is alive",
    does="Does what metadata-divergence does, then kills the broker that ZooKeeper names as leader.",
    expect=(
        "groups of other offsets partitions work; OfflinePartitionsCount stays 0, so no alert fires",
        "starting the dead broker again does not heal it",
    ),
    not_on={KRAFT: ZNODES},
    options=OPTIONS,
)
def run(context: IncidentContext) -> IncidentOutcome:
    diverged = diverge(context)
    where = diverged.where
    context.kill(diverged.written)
    state = context.wait_state(where, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
    context.require(state.isr == diverged.survivors, f"its ISR is {list(diverged.survivors)}, all alive")
    context.wait_leaderless_everywhere(where)
    context.report(f"{where} has leader -1 and isr {list(state.isr)} in ZooKeeper and at every broker")
    context.wait_groups({where.partition})
    context.wait_no_coordinator(context.groups, where.partition)
    context.require(context.live_state(where).leader == -1, "it stays without a leader")
    return IncidentOutcome(
        f"no broker names a coordinator for group {diverged.group}; groups of other partitions work",
        (
            f"consumers of group {diverged.group} hang",
            f"in-sync replica {state.isr[0]} is alive, so an election loses no data",
        ),
        group=diverged.group,
        partitions=[where],
        dead=[diverged.written],
        hung=None,
    )
