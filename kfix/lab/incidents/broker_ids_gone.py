"""Replicas are assigned to a broker id that no longer exists: the broker came back with a new id and an empty disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.incident import Incident

if TYPE_CHECKING:
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

TOPIC = "archive"


def run(context: IncidentContext) -> Broken:
    groups = context.content()
    victim, partition = _choose(context)
    new_id = context.int_option("new_id") or max(context.ids()) + 1
    if new_id in context.ids():
        raise UsageError(f"option new_id={new_id}: this broker exists", hint="choose an id that no broker has")
    copies = context.int_option("copies") or 1
    others = [each for each in context.ids() if each != victim][: copies - 1]
    context.topic(TOPIC, [[victim, *others], [victim, *others]])
    if copies == 1:
        context.reassign({TopicPartition(OFFSETS_TOPIC, partition): (victim,)})
    context.kill(victim)
    context.replace(victim, new_id)
    affected = [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1), TopicPartition(OFFSETS_TOPIC, partition)]
    for each in affected:
        _check(context, each, victim, lost=copies == 1)
    context.wait_groups(groups, [number for number in groups.by_partition if number != partition or copies > 1])
    context.require(
        new_id in context.access.live_ids() and victim not in context.access.live_ids(),
        f"{new_id} runs in place of {victim}",
    )
    alone = "alone, which no longer exists" if copies == 1 else "among others; it no longer exists"
    context.report(f"checked: {TOPIC} and {OFFSETS_TOPIC}-{partition} are assigned to {victim} {alone}")
    group = groups.by_partition[partition]
    return context.broken(
        INCIDENT.name,
        (
            f"consumers of group {group} hang" if copies == 1 else "clients notice nothing",
            f"broker {new_id} is empty and has no replica",
            *INCIDENT.expect[copies > 1 :],
        ),
        group=group,
        topic=TOPIC,
        partitions=affected,
        dead=[victim],
        details={"new_id": new_id, "copies": copies},
    )


def _check(context: IncidentContext, where: TopicPartition, victim: int, *, lost: bool) -> None:
    if not lost:
        context.wait_state(
            *where, f"works without {victim}", lambda each: victim not in each.isr and each.leader in each.isr
        )
        return
    state = context.wait_state(*where, "no recorded leader", lambda each: each.leader == -1)
    context.require(state.heirs == (victim,), f"the ISR of {where.topic}-{where.partition} is [{victim}]")
    context.wait_leaderless_everywhere(*where)


def _choose(context: IncidentContext) -> tuple[int, int]:
    """Returns a broker that leads an offsets partition, preferably not the controller, and the partition."""
    controller = context.access.controller()
    leaders = {
        number: context.live_state(OFFSETS_TOPIC, number).leader for number in context.access.assignment(OFFSETS_TOPIC)
    }
    for partition, leader in sorted(leaders.items(), key=lambda item: (item[1] == controller, item[0])):
        return leader, partition
    raise LabError(f"{OFFSETS_TOPIC} has no partition", hint="kfix lab down and up")


INCIDENT = Incident(
    name="broker-ids-gone",
    title="replicas are assigned to a broker id that no longer exists",
    does="Puts a topic and an offsets partition on one broker, kills it, starts it under a new id with an empty disk.",
    expect=(
        "no election helps: the only assigned replica cannot come back",
        "partitions with other replicas work, with one replica fewer",
    ),
    run=run,
    options={
        "new_id": "the new broker id (default: one above the highest)",
        "copies": "how many replicas the topic has; with 2 or 3 the others remain, unnoticed by clients (default: 1)",
    },
    ranges={"copies": range(1, 4)},
)
