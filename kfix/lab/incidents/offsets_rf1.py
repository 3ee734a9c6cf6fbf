"""The offsets topic has replication factor 1, and a broker with some of its partitions dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE
from kfix.lab.incidents.setup import single_replicas
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.clients.commits import Groups
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken


def run(context: IncidentContext) -> Broken:
    chosen = single_replicas.chosen_brokers(context)
    groups = context.content()
    # Where nothing is asked for, each partition stays with its leader: no record moves.
    holders = {
        number: chosen[number % len(chosen)] if chosen else context.live_state(OFFSETS_TOPIC, number).leader
        for number in context.access.assignment(OFFSETS_TOPIC)
    }
    victim = single_replicas.victim(context, holders)
    context.reassign({TopicPartition(OFFSETS_TOPIC, number): (broker,) for number, broker in holders.items()})
    context.wait_groups(groups, groups.by_partition)
    return _all_alive(context, groups, holders) if victim is None else _one_dead(context, groups, holders, victim)


def _all_alive(context: IncidentContext, groups: Groups, holders: dict[int, int]) -> Broken:
    context.report("checked: each offsets partition has one replica, all brokers live, all groups work")
    return context.broken(
        INCIDENT.name,
        ("clients notice nothing; when one of these brokers dies, its groups hang", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, number) for number in holders],
    )


def _one_dead(context: IncidentContext, groups: Groups, holders: dict[int, int], victim: int) -> Broken:
    lost = sorted(number for number, broker in holders.items() if broker == victim)
    context.kill(victim)
    for number in lost:
        state = context.wait_state(OFFSETS_TOPIC, number, "no recorded leader", lambda each: each.leader == -1)
        context.require(state.heirs == (victim,), f"the isr of {OFFSETS_TOPIC}-{number} is [{victim}]")
    context.wait_groups(groups, [number for number in groups.by_partition if number not in lost])
    for broker in context.access.live_ids():
        wait_for(
            f"broker {broker} knows no coordinator for {groups.by_partition[lost[0]]}",
            lambda via=broker: groups.coordinator(lost[0], via)[0] == COORDINATOR_NOT_AVAILABLE,  # type: ignore[misc]
            15,
        )
    stuck = [groups.by_partition[number] for number in lost]
    context.report(f"checked: groups {', '.join(stuck)} have no coordinator, the other {len(holders) - len(lost)} work")
    return context.broken(
        INCIDENT.name,
        (f"consumers of groups {', '.join(stuck)} hang", *INCIDENT.expect),
        group=stuck[0],
        topic=OFFSETS_TOPIC,
        partitions=[TopicPartition(OFFSETS_TOPIC, number) for number in lost],
        dead=[victim],
    )


INCIDENT = Incident(
    name="offsets-rf1",
    title="the offsets topic has replication factor 1 and one of its brokers dies",
    does="Reassigns every offsets partition to a single replica, then kills a broker that holds some.",
    expect=(
        "groups of the other offsets partitions work, other topics are healthy",
        "no election of any kind helps: no other replica is assigned; the broker must come back",
    ),
    run=run,
    options={**single_replicas.OPTIONS, "brokers": "where the single replicas go, like 1,2 (default: with the leader)"},
)
