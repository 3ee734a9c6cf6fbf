"""Every in-sync replica is dead, another replica is alive. Second case: RF 2, both were down, one is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "ledger"
MIRROR = "journal"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    controller = wait_for("there is a controller", context.access.controller, 10)
    # Not the controller: frozen it would hold up every other change of an ISR.
    first, second, late = sorted(context.ids(), key=lambda each: each != controller)[:3]
    context.topic(TOPIC, [[first, second, late]])
    context.topic(MIRROR, [[first, late]])
    affected = [TopicPartition(TOPIC, 0), TopicPartition(MIRROR, 0)]
    fall_behind(context, affected, (late,))
    context.kill(first, second)
    # Only now: of other partitions the last one in the ISR could else be one that stays dead.
    context.wait_dead_left_isr(frozenset(affected))
    context.kill(late)
    context.start(late)
    for topic, number in affected:
        state = context.wait_state(topic, number, "no recorded leader", lambda each: each.leader == -1)
        context.wait_leaderless_everywhere(topic, number)
        context.require(
            bool(state.heirs) and late not in state.heirs,
            f"{late} is outside the isr {list(state.heirs)} of {topic}-{number}",
        )
    lift_throttle(context, [TOPIC, MIRROR], [late])
    context.wait_groups(groups, groups.by_partition)
    context.report(
        f"checked: {TOPIC}-0 and {MIRROR}-0 have leader -1; their only live replica {late} is outside the ISR"
    )
    return context.broken(
        INCIDENT.name,
        (
            f"{TOPIC}-0: isr [{first}, {second}] or the last of them, both dead",
            f"{MIRROR}-0: {late} came back, {first} did not",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=affected,
        dead=[first, second],
    )


INCIDENT = Incident(
    name="whole-isr-dead",
    title="the whole ISR is dead, a replica outside it is alive; and the same with RF 2, where it came back first",
    does="Makes one replica of two topics lag behind, kills all their brokers, starts the lagging one again.",
    expect=("the live replica lacks records: an unclean election would lose them",),
    run=run,
)
