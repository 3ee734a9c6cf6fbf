"""B1: the ISR shrank to the leader alone, then the leader died. The living replicas lack its last records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.lab.incidents.incident import Incident
from kfix.lab.slow import fall_behind, lift_throttle
from kfix.lab.waiting import wait_for
from kfix.model.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"


def run(stage: Stage) -> Broken:
    groups = stage.content()
    controller = wait_for("there is a controller", stage.access.controller, 10)
    # The controller leads: frozen as a follower it would hold up every other change of an ISR.
    leader, *others = sorted(stage.ids(), key=lambda each: each != controller)
    followers = tuple(others[:2])
    stage.topic(TOPIC, [[leader, *followers]])
    fall_behind(stage, [TopicPartition(TOPIC, 0)], followers)
    stage.kill(leader)
    state = stage.wait_state(TOPIC, 0, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
    stage.wait_leaderless_everywhere(TOPIC, 0)
    lift_throttle(stage, [TOPIC], followers)
    stage.require(state.isr == (leader,), f"its isr is [{leader}], which is dead")
    stage.wait_groups(groups, groups.by_partition)
    stage.say(f"checked: {TOPIC}-0 has leader -1, isr [{leader}]; {list(followers)} live outside the isr; groups work")
    return stage.broken(
        INCIDENT.name,
        (f"{TOPIC}-0 takes no records and gives none until broker {leader} returns", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=[TopicPartition(TOPIC, 0)],
        dead=[leader],
    )


INCIDENT = Incident(
    name="isr-gone",
    title="B1: the ISR shrank to the leader alone, then the leader died",
    does="Makes the followers of a partition lag until they leave the ISR, writes more to the leader, kills it.",
    expect=(
        "only an unclean election could give it a leader now, and it would lose records that were acknowledged",
        "starting the dead broker again heals it without loss",
    ),
    run=run,
)
