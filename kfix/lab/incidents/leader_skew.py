"""One broker leads all it holds, as after restarts of the others that no preferred election followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.errors import UsageError
from kfix.lab.incidents.incident import Incident
from kfix.lab.waiting import wait_for
from kfix.model.cluster.snapshot import TopicPartition

if TYPE_CHECKING:
    from kfix.lab.report import Broken
    from kfix.lab.stage import Stage

TOPIC = "ledger"
_PARTITIONS = 6


def run(stage: Stage) -> Broken:
    chosen = stage.int_option("broker")
    if chosen is not None and chosen not in stage.ids():
        raise UsageError(f"option broker={chosen}: no such broker", hint=f"brokers: {list(stage.ids())}")
    groups = stage.content()
    stage.topic(TOPIC, stage.spread(_PARTITIONS, 3))
    controller = wait_for("there is a controller", stage.access.controller, 10)
    leader = chosen if chosen is not None else next(each for each in stage.ids() if each != controller)
    held = {
        TopicPartition(topic, number): replicas
        for topic in stage.access.topics()
        for number, replicas in stage.access.assignment(topic).items()
        if leader in replicas
    }
    skewed = {where: replicas for where, replicas in held.items() if replicas[0] != leader}
    # The order of replicas decides who is preferred: with the leader first for a moment, an election moves leadership.
    stage.access.reassign({where: _first(leader, replicas) for where, replicas in skewed.items()})
    stage.access.elect(skewed, unclean=False)
    stage.access.reassign(skewed)
    stage.say(f"moved the leadership of {len(skewed)} partitions to broker {leader}; their replicas stayed in order")
    for where, replicas in held.items():
        stage.wait_state(
            *where,
            f"led by {leader}, all in sync",
            lambda each, ids=replicas: each.leader == leader and set(each.isr) == set(ids),  # type: ignore[misc]
        )
        stage.require(stage.access.assignment(where.topic)[where.partition] == replicas, f"{where} is on {replicas}")
    stage.wait_groups(groups, groups.by_partition)
    stage.say(f"checked: broker {leader} leads all {len(held)} partitions it holds, {len(skewed)} of them for others")
    return stage.broken(
        INCIDENT.name,
        (f"broker {leader} does the work of all, and coordinates every group it can", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TOPIC,
        partitions=skewed,
        details={"leader": leader, "leads": len(held), "not_preferred": len(skewed)},
    )


def _first(leader: int, replicas: tuple[int, ...]) -> tuple[int, ...]:
    return (leader, *(each for each in replicas if each != leader))


INCIDENT = Incident(
    name="leader-skew",
    title="one broker leads everything, though the preferred leaders live and are in sync",
    does="Moves the leadership of every partition that a broker holds to it; the order of replicas stays as it was.",
    expect=("all brokers live, every ISR is full; a preferred election evens it out",),
    run=run,
    options={"broker": "which broker leads (default: the first that is not the controller)"},
)
