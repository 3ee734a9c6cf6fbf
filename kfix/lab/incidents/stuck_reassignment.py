"""KFX501: a reassignment waits for a broker that is dead, so that it never ends.

The broker is frozen before the move begins: its session is still alive, so the controller accepts it, and it fetches
nothing before it is killed.
"""

from __future__ import annotations

from kfix.lab.incidents.setup.content import FIRST
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.waiting_move import begin_waiting_move, move_roles


@Incident(
    "stuck-reassignment",
    title="a reassignment waits for a broker that is dead",
    does="Begins to move a partition to a frozen broker, then kills that; with cancel=unsafe also the original one.",
    expect=(
        "clients work; the move ends only when the broker it waits for comes back, or when it is changed or cancelled",
    ),
    options={"cancel": "safe: the original replicas are alive; unsafe: they are dead, KAFKA-14424 (default: safe)"},
    choices={"cancel": ("safe", "unsafe")},
)
def run(context: IncidentContext) -> IncidentOutcome:
    roles = move_roles(context)
    kept, origin, target = roles
    safe = context.options["cancel"] == "safe"
    before = [kept, origin] if safe else [origin]
    dead = [target] if safe else [origin, target]
    begin_waiting_move(context, FIRST, roles, before)
    context.kill(*dead)
    context.wait_state(FIRST, f"led by {kept}", lambda each: each.leader == kept and not set(each.isr) & set(dead))
    move = context.wait_move(FIRST)
    context.require(target in move.adding, f"{FIRST} waits for broker {target}")
    context.wait_groups()
    context.require(context.access.readable(*FIRST), f"{FIRST} can be read")
    outcome = (
        f"the original replicas {before} are alive: cancelling the reassignment loses no data"
        if safe
        else f"the original replicas {before} are dead: cancelling the move leaves {FIRST} without a leader, and "
        f"no election gives it a leader while broker {kept} is alive, in its ISR but no longer a replica"
    )
    return IncidentOutcome(
        f"{FIRST} works, led by {kept}, and its move waits for broker {target}, which is dead",
        (outcome,),
        partitions=[FIRST],
        dead=dead,
        details={"cancel": context.options["cancel"], "waits_for": target, "leader": kept},
        hung=None,
    )
