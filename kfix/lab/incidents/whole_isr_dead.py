"""Every in-sync replica is dead, another replica is alive. Second case: RF 2, both were down, one is back."""

from __future__ import annotations

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import FIRST, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.incidents.setup.lagging import fall_behind, lift_throttle

MIRROR = "journal"


@Incident(
    "whole-isr-dead",
    title="the whole ISR is dead, a replica outside it is alive; and the same with RF 2, where it came back first",
    does="Makes one replica of two topics lag behind, kills all their brokers, starts the lagging one again.",
    expect=("the live replica lacks records: an unclean election would lose them",),
)
def run(context: IncidentContext) -> IncidentOutcome:
    # Not the controller: frozen it would hold up every other change of an ISR.
    first, second, late = context.controller_first()[:3]
    context.topic(TOPIC, [[first, second, late]])
    context.topic(MIRROR, [[first, late]])
    affected = [FIRST, TopicPartition(MIRROR, 0)]
    fall_behind(context, affected, (late,))
    context.kill(first, second)
    # Only now: of other partitions the last one in the ISR could else be one that stays dead.
    context.wait_dead_left_isr(frozenset(affected))
    context.kill(late)
    context.start(late)
    for each in affected:
        heirs = context.wait_state(each, "no recorded leader", lambda state: state.leader == -1).heirs
        context.wait_leaderless_everywhere(each)
        context.require(bool(heirs) and late not in heirs, f"{late} is outside the isr {list(heirs)} of {each}")
    lift_throttle(context, [TOPIC, MIRROR], [late])
    return IncidentOutcome(
        f"{TOPIC}-0 and {MIRROR}-0 have leader -1; their only live replica {late} is outside the ISR",
        (
            f"{TOPIC}-0: isr [{first}, {second}] or the last of them, both dead",
            f"{MIRROR}-0: {late} came back, {first} did not",
        ),
        partitions=affected,
        dead=[first, second],
    )
