"""Incidents of transactions."""

from collections.abc import Iterable

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import TransactionState
from kfix.lab.clients.commits import name_for
from kfix.lab.clients.transactions import Transactions, last_state, write_late
from kfix.lab.definition.properties import DEFAULTS
from kfix.lab.healing.mend import TRANSACTIONAL_ID
from kfix.lab.incidents.setup import single_replicas
from kfix.lab.incidents.setup.content import FIRST, RECORDS, TOPIC, records
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for


@Incident(
    "open-transaction",
    title="a transaction that does not end holds back the last stable offset",
    does="Writes a record within a transaction of 15 minutes, leaves it without commit or abort, and writes 20 more.",
    expect=(
        "a consumer with isolation.level=read_committed gets none of the 20 records and no error",
        "every coordinator responds, and a consumer with read_uncommitted reads everything",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def open_transaction(context: IncidentContext) -> IncidentOutcome:
    """The producer of an open transaction has died: consumers with isolation.level=read_committed get nothing behind
    it.
    """
    groups = context.groups
    number = context.offsets_partition().partition
    where = TopicPartition(groups.topic, 0)
    group = groups.by_partition[number]
    context.require(groups.commit(number, {where: RECORDS}) == 0, f"group {group} commits offset {RECORDS}")
    context.access.hang_transaction(TRANSACTIONAL_ID, where)
    context.access.produce(where.topic, {where.partition: records(where.topic, where.partition)})
    context.report(f"producer {TRANSACTIONAL_ID} wrote to {where} and left its transaction open; others wrote after it")

    high = 2 * RECORDS + 1
    context.wait_stable(where, RECORDS, high)
    return IncidentOutcome(
        f"the last stable offset of {where} is {RECORDS}, its high watermark {high}",
        group=group,
        partitions=[where],
        details={"transactional_id": TRANSACTIONAL_ID, "stable": RECORDS, "high_watermark": high},
    )


# Default true on 4.x: leaders refuse such a record.
_VERIFICATION = "transaction.partition.verification.enable"
#: Lost only by an unclean election: with one in-sync replica, it has acknowledged everything.
_CONFIG = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}


@Incident(
    "transaction-marker-lost",
    title="a committed transaction hangs: an unclean election has cut off its commit marker",
    does="Commits a transaction while one of two replicas is dead, kills the other, and starts the first one again.",
    expect=(
        "the producer was told that its transaction is committed, and its coordinator has forgotten the partition",
        "a consumer with isolation.level=read_committed gets nothing beyond the last stable offset, and no error",
        "neither a timeout nor a start of the application ends it; an abort would hide acknowledged records",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def transaction_marker_lost(context: IncidentContext) -> IncidentOutcome:
    """An unclean election has cut off the commit marker of a transaction: it is open in its partition for good."""
    # The coordinator of the transaction, and the controller of a cluster with ZooKeeper, is a broker that stays alive.
    alive, leader, other = context.controller_first()[:3]
    context.transact({0: TRANSACTIONAL_ID})
    logs = [TopicPartition(TRANSACTIONS_TOPIC, number) for number in context.access.assignment(TRANSACTIONS_TOPIC)]
    context.reassign(dict.fromkeys(logs, (alive,)))
    context.topic(TOPIC, [[leader, other]], _CONFIG)
    group = _reading(context)
    commit = context.access.begin_transaction(TRANSACTIONAL_ID, FIRST)
    context.wait_state(FIRST, "both are in sync", lambda each: set(each.isr) == {leader, other})
    ends = context.log_ends(FIRST, [leader, other])
    context.require(len(set(ends.values())) == 1, f"both replicas have the record of the transaction: {ends}")

    context.kill(other)
    context.wait_state(FIRST, f"only {leader} is in sync", lambda each: each.isr == (leader,))
    commit()
    # The producer has its answer before the marker is written.
    _wait_committed(context, alive)
    context.report(f"{TRANSACTIONAL_ID} committed its transaction; only broker {leader} has the marker")
    context.kill(leader)
    context.start(other)
    context.wait_state(FIRST, f"{other} leads", lambda each: each.leader == other, 60)
    context.report(f"an unclean election elected broker {other}, which has the record and no marker")
    context.start(leader)
    context.wait_state(FIRST, "both are in sync", lambda each: set(each.isr) == {leader, other}, 60)
    return _standing(context, group, f"its coordinator, broker {alive}, has no open transaction")


@Incident(
    "transaction-state-lost",
    title="a transaction hangs: an unclean election of the transactions topic has lost it",
    does="Opens a transaction that one of two replicas of its coordinator's log lacks, and has that one elected.",
    expect=(
        "the transaction is open in its partition, and its coordinator does not know it",
        "a consumer with isolation.level=read_committed gets nothing beyond the last stable offset, and no error",
        "the log does not show whether the application committed: its owner decides",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def transaction_state_lost(context: IncidentContext) -> IncidentOutcome:
    """An unclean election of `__transaction_state` has lost an open transaction: no coordinator ends it."""
    # The partition of the records, and the controller of a cluster with ZooKeeper, are on a broker that stays alive.
    alive, leader, other = context.controller_first()[:3]
    context.transact({0: TRANSACTIONAL_ID})
    logs = [TopicPartition(TRANSACTIONS_TOPIC, number) for number in context.access.assignment(TRANSACTIONS_TOPIC)]
    context.reassign(dict.fromkeys(logs, (leader, other)))
    context.set_config("topics", TRANSACTIONS_TOPIC, _CONFIG)
    context.topic(TOPIC, [[alive]])
    group = _reading(context)
    context.kill(other)
    for log in logs:
        context.wait_state(log, f"only {leader} is in sync", lambda each: each.isr == (leader,))
    context.access.hang_transaction(TRANSACTIONAL_ID, FIRST)
    context.report(f"{TRANSACTIONAL_ID} opened a transaction, and ended; only broker {leader} has it in its log")
    context.kill(leader)
    context.start(other)
    for log in logs:
        context.wait_state(log, f"{other} leads", lambda each: each.leader == other, 60)
    context.report(f"an unclean election elected broker {other}, whose log does not have the transaction")
    context.start(leader)
    for log in logs:
        context.wait_state(log, "both are in sync", lambda each: set(each.isr) == {leader, other}, 60)
    return _standing(context, group, f"its coordinator, broker {other}, has no open transaction")


@Incident(
    "transaction-late-record",
    title="a record of a transaction arrives after its end, and is open for good",
    does="Commits a transaction, then sends its leader one more record of it; on 3.7 and later without verification.",
    expect=(
        "the transaction is complete for its coordinator, which writes no other marker",
        "a consumer with isolation.level=read_committed gets nothing beyond the last stable offset, and no error",
    ),
    options={"partition": "which partition of the offsets topic has the group (0)"},
)
def transaction_late_record(context: IncidentContext) -> IncidentOutcome:
    """A record that arrived after the end of its transaction: it is open in its partition for good."""
    context.set_config("brokers", "<default>", {_VERIFICATION: "false"})
    context.transact({0: TRANSACTIONAL_ID})
    context.topic(TOPIC, context.spread(1, 1))
    group = _reading(context)
    error, coordinator = Transactions(context.access, {0: TRANSACTIONAL_ID}).coordinator(0, context.ids()[0])
    context.require(error == 0, f"{TRANSACTIONAL_ID} has a coordinator")
    state = _wait_committed(context, coordinator)
    leader = context.live_state(FIRST).leader
    refused = write_late(context.access.addresses()[leader], state, FIRST)
    context.require(refused == 0, f"broker {leader} takes a record of a transaction that has ended: {refused}")
    context.report(f"broker {leader} took a record of {TRANSACTIONAL_ID} whose transaction has ended")
    return _standing(context, group, f"for its coordinator, broker {coordinator}, the transaction has ended")


def _reading(context: IncidentContext) -> str:
    """Returns a group that has read the topic to its end."""
    number = context.offsets_partition().partition
    group = context.groups.by_partition[number]
    context.require(context.groups.commit(number, {FIRST: RECORDS}) == 0, f"group {group} commits offset {RECORDS}")
    return group


def _wait_committed(context: IncidentContext, coordinator: int) -> TransactionState:
    """Returns the state of the transaction once all of its markers are written."""

    def committed() -> TransactionState | None:
        found = last_state(context.access, TRANSACTIONAL_ID, coordinator)
        return found if found is not None and found.status == "CompleteCommit" else None

    return wait_for("the coordinator has written the marker", committed, 20)


def _standing(context: IncidentContext, group: str, coordinator: str) -> IncidentOutcome:
    """Writes more records, and returns the outcome once the last stable offset stands before the transaction."""
    context.access.produce(TOPIC, {0: records(TOPIC, 0)})
    high = 2 * RECORDS + 1
    context.wait_stable(FIRST, RECORDS, high)
    return IncidentOutcome(
        f"the last stable offset of {FIRST} is {RECORDS}, its high watermark {high}; {coordinator}",
        group=group,
        partitions=[FIRST],
        details={"transactional_id": TRANSACTIONAL_ID, "stable": RECORDS, "high_watermark": high},
    )


_PARTITIONS = "transaction.state.log.num.partitions"
# As Kafka sets them itself when the first transactional producer comes.
_TRANSACTIONS_CONFIG = {
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
def transactions_rf1(context: IncidentContext) -> IncidentOutcome:
    """`__transaction_state` has replication factor 1, and a broker with some of its partitions dies."""
    chosen = single_replicas.chosen_brokers(context) or context.ids()
    known = context.access.assignment(TRANSACTIONS_TOPIC)
    count = len(known) or int(context.lab.state.spec.settings.get(_PARTITIONS, DEFAULTS[_PARTITIONS]))
    holders = {number: chosen[number % len(chosen)] for number in range(count)}
    victim = single_replicas.victim(context, holders)
    if known:
        context.reassign({each: (holders[each.partition],) for each in _partitions(holders)})
    else:
        context.access.create_topic(
            TRANSACTIONS_TOPIC, [[holders[number]] for number in range(count)], _TRANSACTIONS_CONFIG
        )
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
