"""`__transaction_state` has replication factor 1, and a broker with some of its partitions dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE, name_for
from kfix.lab.definition.properties import DEFAULTS
from kfix.lab.incidents.setup import single_replicas
from kfix.lab.incidents.setup.incident import Incident
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.clients.commits import Groups
    from kfix.lab.clients.transactions import Transactions
    from kfix.lab.incidents.setup.context import IncidentContext
    from kfix.lab.incidents.setup.result import Broken

_PARTITIONS = "transaction.state.log.num.partitions"
# As Kafka sets them itself when the first transactional producer comes.
_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "uncompressed",
    "min.insync.replicas": "1",
    "segment.bytes": "104857600",
    "unclean.leader.election.enable": "false",
}


def run(context: IncidentContext) -> Broken:
    chosen = single_replicas.chosen_brokers(context) or context.ids()
    groups = context.content()
    known = context.access.assignment(TRANSACTIONS_TOPIC)
    count = len(known) or int(context.lab.state.spec.settings.get(_PARTITIONS, DEFAULTS[_PARTITIONS]))
    holders = {number: chosen[number % len(chosen)] for number in range(count)}
    victim = single_replicas.victim(context, holders)
    if known:
        context.reassign({TopicPartition(TRANSACTIONS_TOPIC, number): (broker,) for number, broker in holders.items()})
    else:
        context.access.create_topic(TRANSACTIONS_TOPIC, [[holders[number]] for number in range(count)], _CONFIG)
        context.report(f"created {TRANSACTIONS_TOPIC} with replication factor 1: {holders}")
    writers = context.transact({number: name_for(number, count, "ledger-writer") for number in holders})
    return (
        _all_alive(context, groups, writers) if victim is None else _one_dead(context, groups, writers, holders, victim)
    )


def _all_alive(context: IncidentContext, groups: Groups, writers: Transactions) -> Broken:
    _wait_works(writers, writers.by_partition)
    context.report(
        f"checked: each partition of {TRANSACTIONS_TOPIC} has one replica, all brokers are alive, all producers work"
    )
    return context.broken(
        INCIDENT.name,
        ("clients notice nothing; when one of these brokers dies, its producers hang", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TRANSACTIONS_TOPIC,
        partitions=[TopicPartition(TRANSACTIONS_TOPIC, number) for number in writers.by_partition],
        details=_ids(writers),
    )


def _one_dead(
    context: IncidentContext, groups: Groups, writers: Transactions, holders: dict[int, int], victim: int
) -> Broken:
    lost = sorted(number for number, broker in holders.items() if broker == victim)
    context.kill(victim)
    for number in lost:
        state = context.wait_state(TRANSACTIONS_TOPIC, number, "no recorded leader", lambda each: each.leader == -1)
        context.require(state.heirs == (victim,), f"the isr of {TRANSACTIONS_TOPIC}-{number} is [{victim}]")
        for broker in context.access.live_ids():
            wait_for(
                f"broker {broker} knows no coordinator for {writers.by_partition[number]}",
                lambda each=number, via=broker: writers.coordinator(each, via)[0] == COORDINATOR_NOT_AVAILABLE,  # type: ignore[misc]
                15,
            )
    _wait_works(writers, [number for number in holders if number not in lost])
    context.wait_groups(groups, groups.by_partition)
    stuck = ", ".join(writers.by_partition[number] for number in lost)
    context.report(
        f"checked: producers {stuck} have no coordinator, the other {len(holders) - len(lost)} and all groups work"
    )
    return context.broken(
        INCIDENT.name,
        (f"transactional producers {stuck} hang", *INCIDENT.expect),
        group=groups.by_partition[0],
        topic=TRANSACTIONS_TOPIC,
        partitions=[TopicPartition(TRANSACTIONS_TOPIC, number) for number in lost],
        dead=[victim],
        details=_ids(writers),
    )


def _wait_works(writers: Transactions, partitions: Iterable[int]) -> None:
    for number in partitions:
        writer = writers.by_partition[number]
        wait_for(f"producer {writer} still works", lambda each=number: writers.works(each), 30)  # type: ignore[misc]


def _ids(writers: Transactions) -> dict[str, str]:
    return {f"transactional_id_{number}": writer for number, writer in writers.by_partition.items()}


INCIDENT = Incident(
    name="transactions-rf1",
    title="the transactions topic has replication factor 1 and one of its brokers dies",
    does="Makes the transactions topic with single replicas, uses it, then kills a broker that holds some.",
    expect=(
        "consumer groups, plain producers and the other transactional producers work",
        "no election of any kind helps: no other replica is assigned; the broker must come back",
    ),
    run=run,
    options={
        **single_replicas.OPTIONS,
        "brokers": "where the single replicas go, like 1,2 (default: round-robin over all brokers)",
    },
)
