"""KFX501: a reassignment waits for a broker that is dead, so that it never ends.

The broker is frozen before the move begins: its session still lives, so the controller accepts it, and it fetches
nothing before it is killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.incident import Incident
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"
MOVED = TopicPartition(TOPIC, 0)


def run(stage: Stage) -> Broken:
    groups = stage.content()
    controller = wait_for("there is a controller", stage.access.controller, 10)
    kept, origin, target = sorted(stage.ids(), key=lambda each: each != controller)[:3]
    safe = stage.options["cancel"] == "safe"
    before, after = ((kept, origin), (kept, target)) if safe else ((origin,), (kept, target))
    dead = [target] if safe else [origin, target]
    stage.topic(TOPIC, [list(before)])
    stage.lab.nodes.stop(stage.lab.state, target)
    stage.begin_move(MOVED, after)
    stage.say(f"froze broker {target}, then began to move {MOVED} from {list(before)} to {list(after)}")
    stage.wait_state(*MOVED, f"{kept} is in sync", lambda each: kept in each.isr)
    stage.kill(*dead)
    stage.wait_state(*MOVED, f"led by {kept}", lambda each: each.leader == kept and not set(each.isr) & set(dead))
    move = stage.wait_move(MOVED)
    stage.require(target in move.adding, f"{MOVED} waits for broker {target}")
    stage.wait_groups(groups, groups.by_partition)
    stage.require(stage.access.readable(*MOVED), f"{MOVED} can be read")
    stage.say(f"checked: {MOVED} works, led by {kept}, and its move waits for broker {target}, which is dead")
    outcome = (
        f"the original replicas {list(before)} live: cancelling the move loses nothing"
        if safe
        else f"the original replicas {list(before)} are dead: cancelling the move leaves {MOVED} without a leader, and "
        f"no election gives it one while broker {kept} lives, in its isr and no longer its replica"
    )
    return stage.broken(
        INCIDENT.name,
        (outcome, *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[MOVED],
        dead=dead,
        details={"cancel": stage.options["cancel"], "waits_for": target, "leader": kept},
    )


INCIDENT = Incident(
    name="stuck-reassignment",
    title="a reassignment waits for a broker that is dead",
    does="Begins to move a partition to a frozen broker, then kills that; with cancel=unsafe also the original one.",
    expect=(
        "clients work; the move ends only when the broker it waits for comes back, or when it is changed or cancelled",
    ),
    run=run,
    options={"cancel": "safe: the original replicas live; unsafe: they are dead, KAFKA-14424 (safe)"},
    choices={"cancel": ("safe", "unsafe")},
)
