"""KFX501: a reassignment waits for a broker that is dead, so that it never ends.

The broker is frozen before the move begins: its session is still alive, so the controller accepts it, and it fetches
nothing before it is killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.waiting_move import begin_waiting_move, move_roles

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
MOVED = TopicPartition(TOPIC, 0)


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    roles = move_roles(context)
    kept, origin, target = roles
    safe = context.options["cancel"] == "safe"
    before = [kept, origin] if safe else [origin]
    dead = [target] if safe else [origin, target]
    begin_waiting_move(context, MOVED, roles, before)
    context.kill(*dead)
    context.wait_state(*MOVED, f"led by {kept}", lambda each: each.leader == kept and not set(each.isr) & set(dead))
    move = context.wait_move(MOVED)
    context.require(target in move.adding, f"{MOVED} waits for broker {target}")
    context.wait_groups(groups, groups.by_partition)
    context.require(context.access.readable(*MOVED), f"{MOVED} can be read")
    context.report(f"checked: {MOVED} works, led by {kept}, and its move waits for broker {target}, which is dead")
    outcome = (
        f"the original replicas {before} are alive: cancelling the reassignment loses no data"
        if safe
        else f"the original replicas {before} are dead: cancelling the move leaves {MOVED} without a leader, and "
        f"no election gives it a leader while broker {kept} is alive, in its ISR but no longer a replica"
    )
    return context.broken(
        INCIDENT.name,
        (outcome, *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[MOVED],
        dead=dead,
        details={"cancel": context.options["cancel"], "waits_for": target, "leader": kept},
    )


INCIDENT = Incident(
    name="stuck-reassignment",
    title="a reassignment waits for a broker that is dead",
    does="Begins to move a partition to a frozen broker, then kills that; with cancel=unsafe also the original one.",
    expect=(
        "clients work; the move ends only when the broker it waits for comes back, or when it is changed or cancelled",
    ),
    run=run,
    options={"cancel": "safe: the original replicas are alive; unsafe: they are dead, KAFKA-14424 (default: safe)"},
    choices={"cancel": ("safe", "unsafe")},
)
