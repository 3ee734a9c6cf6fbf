"""KFX504: a reassignment to a subset of the target of one under way: it never ends, with all brokers alive.

Kafka 4.3 keeps the replicas that the first reassignment was adding, although the second removes one of them.
"""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import FIRST
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.waiting_move import begin_waiting_move, move_roles
from kfix.lab.waiting import wait_for


@Incident(
    "move-never-ends",
    title="a reassignment adds and removes the same replica, and never ends",
    does="Reassigns a partition to a part of the target of a reassignment that waits for a stopped broker.",
    expect=(
        "all brokers are alive and clients work; the move never ends by itself",
        "reassigned to the target of the first move, it ends",
    ),
    not_on={
        ZK: "the controller of a ZooKeeper cluster replaces the reassignment, which then ends",
        "3.9.2": "Kafka 3.9 ends a reassignment to a part of the target at once",
    },
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = move_roles(context)
    kept, origin, target = roles
    begin_waiting_move(context, FIRST, roles, [origin])
    context.begin_move(FIRST, (kept,))
    context.report(f"reassigned {FIRST} to [{kept}], a part of the target of the move under way")
    context.lab.nodes.cont(context.lab.state, target)
    wait_for("all brokers are alive", lambda: context.access.live_ids() == set(context.ids()), 20)
    context.wait_groups()
    move = context.wait_move(FIRST)
    context.require(
        target in move.adding and target in move.removing, f"broker {target} is both added and removed: {move}"
    )
    return IncidentOutcome(
        f"all brokers are alive, and {FIRST} is still moved: broker {target} is added and removed",
        partitions=[FIRST],
        details={"kept": kept, "origin": origin, "both": target},
        hung=None,
    )
