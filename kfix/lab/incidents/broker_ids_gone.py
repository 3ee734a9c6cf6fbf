"""Replicas are assigned to a broker id that no longer exists: the broker came back with a new id and an empty disk."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome

TOPIC = "archive"
_ONLY_REPLICA = "no election helps: the only assigned replica cannot come back"


@Incident(
    "broker-ids-gone",
    title="replicas are assigned to a broker id that no longer exists",
    does="Puts a topic and an offsets partition on one broker, kills it, starts it under a new id with an empty disk.",
    expect=(
        _ONLY_REPLICA,
        "partitions with other replicas work, with one replica fewer",
    ),
    options={
        "new_id": "the new broker id (default: one above the highest)",
        "copies": "how many replicas the topic has; with 2 or 3 the others remain, unnoticed by clients (default: 1)",
    },
    ranges={"copies": range(1, 4)},
)
def run(context: IncidentContext) -> IncidentOutcome:
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
    context.require(
        new_id in context.access.live_ids() and victim not in context.access.live_ids(),
        f"{new_id} runs in place of {victim}",
    )
    alone = "alone, which no longer exists" if copies == 1 else "among others; it no longer exists"
    group = context.groups.by_partition[partition]
    return IncidentOutcome(
        f"{TOPIC} and {OFFSETS_TOPIC}-{partition} are assigned to {victim} {alone}",
        (
            f"consumers of group {group} hang" if copies == 1 else "clients notice nothing",
            f"broker {new_id} is empty and has no replica",
        ),
        group=group,
        partitions=affected,
        dead=[victim],
        details={"new_id": new_id, "copies": copies},
        hung=() if copies > 1 else {partition},
        untrue={_ONLY_REPLICA} if copies > 1 else (),
    )


def _check(context: IncidentContext, where: TopicPartition, victim: int, *, lost: bool) -> None:
    if lost:
        context.wait_no_leader(where, (victim,))
    else:
        context.wait_state(
            where, f"works without {victim}", lambda each: victim not in each.isr and each.leader in each.isr
        )


def _choose(context: IncidentContext) -> tuple[int, int]:
    """Returns a broker that leads an offsets partition, preferably not the controller, and the partition."""
    controller = context.access.controller()
    leaders = {
        number: context.live_state(TopicPartition(OFFSETS_TOPIC, number)).leader
        for number in context.access.assignment(OFFSETS_TOPIC)
    }
    for partition, leader in sorted(leaders.items(), key=lambda item: (item[1] == controller, item[0])):
        return leader, partition
    raise LabError(f"{OFFSETS_TOPIC} has no partition", hint="kfix lab down and up")
