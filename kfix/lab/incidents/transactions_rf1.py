"""`__transaction_state` has replication factor 1, and a broker with some of its partitions dies."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.groups import name_for
from kfix.lab.clients.transactions import Transactions
from kfix.lab.definition.properties import DEFAULTS
from kfix.lab.incidents.setup import single_replicas
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

_PARTITIONS = "transaction.state.log.num.partitions"
# As Kafka sets them itself when the first transactional producer comes.
_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "uncompressed",
    "min.insync.replicas": "1",
    "segment.bytes": "104857600",
    "unclean.leader.election.enable": "false",
}


@Incident(
    "transactions-rf1",
    title="the transactions topic has replication factor 1 and one of its brokers dies",
    does="Makes the transactions topic with single replicas, uses it, then kills a broker that holds some.",
    expect=(
        "consumer groups, plain producers and the other transactional producers work",
        "no election of any kind helps: no other replica is assigned; the broker must come back",
    ),
    refuse=single_replicas.chosen_brokers,
    options={
        **single_replicas.OPTIONS,
        "brokers": "where the single replicas go, like 1,2 (default: round-robin over all brokers)",
    },
)
def run(context: IncidentContext) -> IncidentOutcome:
    chosen = single_replicas.chosen_brokers(context) or context.ids()
    known = context.access.assignment(TRANSACTIONS_TOPIC)
    count = len(known) or int(context.lab.state.spec.settings.get(_PARTITIONS, DEFAULTS[_PARTITIONS]))
    holders = {number: chosen[number % len(chosen)] for number in range(count)}
    victim = single_replicas.victim(context, holders)
    if known:
        context.reassign({each: (holders[each.partition],) for each in _partitions(holders)})
    else:
        context.access.create_topic(TRANSACTIONS_TOPIC, [[holders[number]] for number in range(count)], _CONFIG)
        context.report(f"created {TRANSACTIONS_TOPIC} with replication factor 1: {holders}")
    writers = context.transact({number: name_for(number, count, "ledger-writer") for number in holders})
    if victim is not None:
        return _one_dead(context, writers, holders, victim)
    _wait_works(writers, holders)
    return IncidentOutcome(
        f"each partition of {TRANSACTIONS_TOPIC} has one replica, all brokers are alive, all producers work",
        ("clients notice nothing; when one of these brokers dies, its producers hang",),
        partitions=_partitions(holders),
        details=_ids(writers),
        hung=None,
    )


def _one_dead(context: IncidentContext, writers: Transactions, holders: dict[int, int], victim: int) -> IncidentOutcome:
    lost = sorted(number for number, broker in holders.items() if broker == victim)
    context.kill(victim)
    for each in _partitions(lost):
        heirs = context.wait_state(each, "no recorded leader", lambda state: state.leader == -1).heirs
        context.require(heirs == (victim,), f"the isr of {each} is [{victim}]")
        context.wait_no_coordinator(writers, each.partition)
    _wait_works(writers, [number for number in holders if number not in lost])
    stuck = ", ".join(writers.by_partition[number] for number in lost)
    return IncidentOutcome(
        f"producers {stuck} have no coordinator, the other {len(holders) - len(lost)} and all groups work",
        (f"transactional producers {stuck} hang",),
        partitions=_partitions(lost),
        dead=[victim],
        details=_ids(writers),
    )


def _partitions(numbers: Iterable[int]) -> list[TopicPartition]:
    return [TopicPartition(TRANSACTIONS_TOPIC, number) for number in numbers]


def _wait_works(writers: Transactions, partitions: Iterable[int]) -> None:
    for number in partitions:
        writer = writers.by_partition[number]
        wait_for(f"producer {writer} still works", lambda each=number: writers.works(each), 30)  # type: ignore[misc]


def _ids(writers: Transactions) -> dict[str, str]:
    return {f"transactional_id_{number}": writer for number, writer in writers.by_partition.items()}
