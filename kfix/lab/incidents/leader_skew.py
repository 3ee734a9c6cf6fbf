"""One broker leads all partitions it has, as after restarts of the others without a preferred leader election."""

from __future__ import annotations

from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome

_PARTITIONS = 6


def _refuse(context: IncidentContext) -> None:
    chosen = context.int_option("broker")
    if chosen is not None and chosen not in context.ids():
        raise UsageError(f"option broker={chosen}: no such broker", hint=f"brokers: {list(context.ids())}")


@Incident(
    "leader-skew",
    title="one broker leads everything, though the preferred leaders are alive and in sync",
    does="Moves the leadership of every partition of a broker to that broker; the order of replicas is unchanged.",
    expect=("all brokers are alive, every ISR is full; a preferred leader election balances the leaders",),
    options={"broker": "which broker leads (default: the first that is not the controller)"},
    refuse=_refuse,
)
def run(context: IncidentContext) -> IncidentOutcome:
    context.topic(TOPIC, context.spread(_PARTITIONS, 3))
    chosen, others = context.int_option("broker"), context.controller_first()[1:]
    leader = others[0] if chosen is None else chosen
    held = {
        TopicPartition(topic, number): replicas
        for topic in context.access.topics()
        for number, replicas in context.access.assignment(topic).items()
        if leader in replicas
    }
    skewed = {where: replicas for where, replicas in held.items() if replicas[0] != leader}
    # The order of replicas decides who is preferred: with the leader first for a moment, an election moves leadership.
    context.access.reassign({where: _first(leader, replicas) for where, replicas in skewed.items()})
    context.access.elect(skewed, unclean=False)
    context.access.reassign(skewed)
    context.report(
        f"moved the leadership of {len(skewed)} partitions to broker {leader}; the order of replicas is unchanged"
    )
    for where, replicas in held.items():
        context.wait_state(
            where,
            f"led by {leader}, all in sync",
            lambda each, ids=replicas: each.leader == leader and set(each.isr) == set(ids),  # type: ignore[misc]
        )
        context.require(
            context.access.assignment(where.topic)[where.partition] == replicas, f"{where} is on {replicas}"
        )
    return IncidentOutcome(
        f"broker {leader} leads all {len(held)} partitions it has, {len(skewed)} without being preferred",
        (f"broker {leader} serves all of these partitions and coordinates every group it can",),
        topic=TOPIC,
        partitions=skewed,
        details={"leader": leader, "leads": len(held), "not_preferred": len(skewed)},
    )


def _first(leader: int, replicas: tuple[int, ...]) -> tuple[int, ...]:
    return (leader, *(each for each in replicas if each != leader))
