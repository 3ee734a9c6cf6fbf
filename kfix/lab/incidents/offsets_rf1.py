"""The offsets topic has replication factor 1, and a broker with some of its partitions dies."""

from __future__ import annotations

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup import single_replicas
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome


@Incident(
    "offsets-rf1",
    title="the offsets topic has replication factor 1 and one of its brokers dies",
    does="Reassigns every offsets partition to a single replica, then kills a broker that holds some.",
    expect=(
        "groups of the other offsets partitions work, other topics are healthy",
        "no election of any kind helps: no other replica is assigned; the broker must come back",
    ),
    refuse=single_replicas.chosen_brokers,
    options={**single_replicas.OPTIONS, "brokers": "where the single replicas go, like 1,2 (default: with the leader)"},
)
def run(context: IncidentContext) -> IncidentOutcome:
    chosen = single_replicas.chosen_brokers(context)
    partitions = [TopicPartition(OFFSETS_TOPIC, number) for number in context.access.assignment(OFFSETS_TOPIC)]
    # Where nothing is asked for, each partition stays with its leader: no record moves.
    holders = {
        each: chosen[each.partition % len(chosen)] if chosen else context.live_state(each).leader for each in partitions
    }
    victim = single_replicas.victim(context, holders)
    context.reassign({each: (broker,) for each, broker in holders.items()})
    context.wait_groups()
    if victim is not None:
        return _one_dead(context, holders, victim)
    return IncidentOutcome(
        "each offsets partition has one replica, all brokers live, all groups work",
        ("clients notice nothing; when one of these brokers dies, its groups hang",),
        partitions=holders,
        hung=None,
    )


def _one_dead(context: IncidentContext, holders: dict[TopicPartition, int], victim: int) -> IncidentOutcome:
    lost = sorted(each for each, broker in holders.items() if broker == victim)
    hung = {each.partition: context.groups.by_partition[each.partition] for each in lost}
    context.kill(victim)
    for each in lost:
        heirs = context.wait_state(each, "no recorded leader", lambda state: state.leader == -1).heirs
        context.require(heirs == (victim,), f"the isr of {each} is [{victim}]")
    context.wait_groups(hung)
    context.wait_no_coordinator(context.groups, lost[0].partition)
    return IncidentOutcome(
        f"groups {', '.join(hung.values())} have no coordinator, the other {len(holders) - len(lost)} work",
        (f"consumers of groups {', '.join(hung.values())} hang",),
        group=hung[lost[0].partition],
        partitions=lost,
        dead=[victim],
        hung=None,
    )
