"""A5: replicas are assigned to a broker id that is no more: the broker came back under a new id, with an empty disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.errors import LabError, UsageError
from kfix.lab.incidents.incident import Incident
from kfix.model.coordinator import OFFSETS_TOPIC
from kfix.model.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "archive"


def run(stage: Stage) -> Broken:
    groups = stage.content()
    victim, partition = _choose(stage)
    new_id = stage.int_option("new_id") or max(stage.ids()) + 1
    if new_id in stage.ids():
        raise UsageError(f"option new_id={new_id}: there is such a broker", hint="an id that nobody has")
    stage.topic(TOPIC, [[victim], [victim]])
    stage.reassign({TopicPartition(OFFSETS_TOPIC, partition): (victim,)})
    stage.kill(victim)
    stage.replace(victim, new_id)
    affected = [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1), TopicPartition(OFFSETS_TOPIC, partition)]
    for topic, number in affected:
        state = stage.wait_state(topic, number, "leader -1 in ZooKeeper", lambda each: each.leader == -1)
        stage.require(state.isr == (victim,), f"the isr of {topic}-{number} is [{victim}]")
        stage.wait_leaderless_everywhere(topic, number)
    stage.wait_groups(groups, [number for number in groups.by_partition if number != partition])
    stage.require(
        new_id in stage.access.live_ids() and victim not in stage.access.live_ids(),
        f"{new_id} runs in place of {victim}",
    )
    stage.say(
        f"checked: {TOPIC} and {OFFSETS_TOPIC}-{partition} are assigned to {victim} alone, which no longer exists"
    )
    return stage.broken(
        INCIDENT.name,
        (
            f"consumers of group {groups.by_partition[partition]} wait for ever",
            f"broker {new_id} is empty and holds no replica",
            *INCIDENT.expect,
        ),
        group=groups.by_partition[partition],
        topic=TOPIC,
        partitions=affected,
        dead=[victim],
    )


def _choose(stage: Stage) -> tuple[int, int]:
    """A broker that leads an offsets partition, rather not the controller."""
    controller = stage.access.controller()
    leaders = {
        number: stage.live_state(OFFSETS_TOPIC, number).leader for number in stage.access.assignment(OFFSETS_TOPIC)
    }
    for partition, leader in sorted(leaders.items(), key=lambda item: (item[1] == controller, item[0])):
        return leader, partition
    raise LabError(f"{OFFSETS_TOPIC} has no partition", hint="kfix lab down and up")


INCIDENT = Incident(
    name="broker-ids-gone",
    title="A5: replicas are assigned to a broker id that no longer exists",
    does="Puts a topic and an offsets partition on one broker, kills it, starts it under a new id with an empty disk.",
    expect=(
        "no election of any kind helps: the only replica assigned cannot come back",
        "partitions with replicas elsewhere work, one replica short",
    ),
    run=run,
    options={"new_id": "the new broker id (default: one above the highest)"},
)
