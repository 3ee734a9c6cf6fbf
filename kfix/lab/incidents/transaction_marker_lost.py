"""An unclean election has cut off the commit marker of a transaction: it is open in its partition for good."""

from __future__ import annotations

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.transactions import last_status
from kfix.lab.healing.offsets import TRANSACTIONAL_ID
from kfix.lab.incidents.setup.content import FIRST, RECORDS, TOPIC, records
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome
from kfix.lab.waiting import wait_for

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
def run(context: IncidentContext) -> IncidentOutcome:
    # The coordinator of the transaction, and the controller of a cluster with ZooKeeper, is a broker that stays alive.
    alive, leader, other = context.controller_first()[:3]
    context.transact({0: TRANSACTIONAL_ID})
    logs = [TopicPartition(TRANSACTIONS_TOPIC, number) for number in context.access.assignment(TRANSACTIONS_TOPIC)]
    context.reassign(dict.fromkeys(logs, (alive,)))
    context.topic(TOPIC, [[leader, other]], _CONFIG)
    number = context.offsets_partition().partition
    group = context.groups.by_partition[number]
    context.require(context.groups.commit(number, {FIRST: RECORDS}) == 0, f"group {group} commits offset {RECORDS}")
    commit = context.access.begin_transaction(TRANSACTIONAL_ID, FIRST)
    context.wait_state(FIRST, "both are in sync", lambda each: set(each.isr) == {leader, other})
    ends = context.log_ends(FIRST, [leader, other])
    context.require(len(set(ends.values())) == 1, f"both replicas have the record of the transaction: {ends}")

    context.kill(other)
    context.wait_state(FIRST, f"only {leader} is in sync", lambda each: each.isr == (leader,))
    commit()
    # The producer has its answer before the marker is written.
    wait_for(
        "the coordinator has written the marker",
        lambda: last_status(context.access, TRANSACTIONAL_ID, alive) == "CompleteCommit",
        20,
    )
    context.report(f"{TRANSACTIONAL_ID} committed its transaction; only broker {leader} has the marker")
    context.kill(leader)
    context.start(other)
    context.wait_state(FIRST, f"{other} leads", lambda each: each.leader == other, 60)
    context.report(f"an unclean election elected broker {other}, which has the record and no marker")
    context.start(leader)
    context.wait_state(FIRST, "both are in sync", lambda each: set(each.isr) == {leader, other}, 60)
    context.access.produce(TOPIC, {0: records(TOPIC, 0)})
    high = 2 * RECORDS + 1
    context.wait_stable(FIRST, RECORDS, high)
    return IncidentOutcome(
        f"the last stable offset of {FIRST} is {RECORDS}, its high watermark {high}; the coordinator, broker {alive}, "
        f"has no open transaction in {TRANSACTIONS_TOPIC}",
        group=group,
        partitions=[FIRST],
        details={"transactional_id": TRANSACTIONAL_ID, "stable": RECORDS, "high_watermark": high},
    )
