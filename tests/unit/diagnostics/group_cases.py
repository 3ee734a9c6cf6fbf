"""States of single groups, and of texts with the errors of groups: where each check finds something, and where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.snapshot.transactions import OpenBatch
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.clusters import base, changed, coordinator_stuck, text
from tests.unit.diagnostics.group_readings import (
    AT_END,
    MEMBER,
    ORDERS,
    STILL,
    TWO,
    assigned_partition_leaderless,
    coordinator_unreachable,
    hanging,
    held,
    held_by_one_of,
    limited,
    marker_lost,
    not_reconciled,
    open_transaction,
    paced,
    position,
    read,
    reading,
    rebalance_held,
    remembered,
    restarted,
    stands_at_a_record,
    transaction_log,
)
from tests.unit.diagnostics.sick import Sick

WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL

_METADATA = (
    "WARN [Producer clientId=p] Error while fetching metadata with correlation id 5 : {orders=LEADER_NOT_AVAILABLE}"
)
_ORDERS = "Topic: orders Partition: 0 Leader: 1 Replicas: 1,2,3 Isr: 1,2,3"
_TOO_FEW = (
    "[2017-09-13 13:20:28,975] ERROR [KafkaApi-1] Number of alive brokers '1' does not meet the required replication "
    "factor '3' for the offsets topic (configured via 'offsets.topic.replication.factor'). (kafka.server.KafkaApis)"
)
_COMMIT_FAILED = (
    "[Consumer clientId=c, groupId=billing] Offset commit failed on partition orders-0 at offset 5: The coordinator is "
    "not available."
)
_OFFSETS = (
    "Topic: __consumer_offsets PartitionCount: 1 ReplicationFactor: 2 Configs:\n"
    "Topic: __consumer_offsets Partition: 0 Leader: {} Replicas: 2,1 Isr: 2,1"
)


def _held_by(**state: Any) -> Snapshot:
    return read(held(), held(), transaction_log=transaction_log(**state))


SICK: dict[str, list[Sick]] = {
    "KFX110": [Sick(coordinator_unreachable, "coordinator on broker 2", CRITICAL)],
    "KFX111": [
        Sick(rebalance_held, "group g2", CRITICAL),
        Sick(lambda: held_by_one_of(MEMBER, MEMBER._replace(id="c2-uuid", instance="worker-2")), "group g2", CRITICAL),
        Sick(not_reconciled, "group g2", CRITICAL),
    ],
    "KFX112": [Sick(assigned_partition_leaderless, "group g2", CRITICAL)],
    "KFX113": [
        Sick(lambda: read(reading(partitions=position(committed=30))), "group g2", CRITICAL),
        Sick(lambda: read(reading(partitions=position(committed=3, start=5))), "group g2", CRITICAL),
        Sick(
            lambda: read(reading(partitions=position(committed=3, start=5), members=(), state="Empty")),
            "group g2",
            WARNING,
        ),
    ],
    "KFX116": [
        Sick(open_transaction, "producer id 4000", CRITICAL),
        Sick(lambda: read(held(), held(), transaction_log=transaction_log("no leader")), "producer id 4000", CRITICAL),
        # Half of its timeout is over.
        Sick(
            lambda: read(
                held(since=20),
                held(since=20),
                transaction_log=transaction_log(timeout_ms=30_000, started_ms=int((NOW - 20) * 1000)),
            ),
            "producer id 4000",
            CRITICAL,
        ),
        Sick(
            lambda: read(*[held(partitions=position(committed=5, stable=18))] * 2, transaction_log=transaction_log()),
            "producer id 4000",
            WARNING,
        ),
        Sick(lambda: _held_by(status="PrepareCommit"), "producer id 4000", CRITICAL),
        Sick(lambda: _held_by(status="CompleteAbort", epoch=4), "producer id 4000", CRITICAL),
        Sick(lambda: _held_by(timeout_ms=20_000), "producer id 4000", CRITICAL),
    ],
    "KFX117": [
        Sick(lambda: text(_COMMIT_FAILED), "group billing", CRITICAL),
        Sick(lambda: text(f"{_COMMIT_FAILED}\n{_OFFSETS.format(2)}"), "group billing", CRITICAL),
        Sick(lambda: text(_METADATA), "topic orders", CRITICAL),
        Sick(
            lambda: text(f"{_METADATA}\nTopic: orders PartitionCount: 1 Configs:\n{_ORDERS}"), "topic orders", WARNING
        ),
        Sick(lambda: text(_TOO_FEW), "__consumer_offsets", CRITICAL),
        Sick(lambda: text("Error completing leader election (PREFERRED) for partition: x-0: a.b.E: m"), "x-0", WARNING),
        Sick(
            lambda: text("Error: Executing consumer group command failed due to x: The coordinator is not available."),
            "a group that the text does not name",
            CRITICAL,
        ),
    ],
    "KFX122": [
        Sick(marker_lost, "producer id 4000", CRITICAL),
        Sick(lambda: hanging(("PrepareAbort", 0), ("CompleteAbort", -1)), "producer id 4000", CRITICAL),
        Sick(lambda: hanging(("PrepareCommit", 1), ("CompleteCommit", -1)), "producer id 4000", CRITICAL),
        Sick(
            lambda: hanging(("PrepareCommit", 1), ("CompleteCommit", -1), whole=frozenset()),
            "producer id 4000",
            CRITICAL,
        ),
        Sick(hanging, "producer id 4000", CRITICAL),
        Sick(lambda: replace(marker_lost(), group_readings=()), "producer id 4000", WARNING),
    ],
    "KFX123": [
        Sick(stands_at_a_record, "group g2", CRITICAL),
        # Its member reads another partition; or reads nothing; or too little.
        Sick(lambda: paced(((3, 90), (60, 70), (9, 9)), ((3, 120), (95, 99), (19, 19))), "group g2", WARNING),
        Sick(lambda: paced(((3, 90), (3, 90), (9, 9)), ((3, 120), (3, 120), (39, 39))), "group g2", WARNING),
        Sick(lambda: paced(((3, 190), (3, 190), (9, 9)), ((9, 220), (9, 220), (39, 39))), "group g2", WARNING),
        # A slow member works through one of its partitions, and then through the other.
        Sick(lambda: paced(((2, 190), (3, 190), (9, 9)), ((2, 220), (90, 490), (39, 39))), "group g2", WARNING),
        # One partition gets ten times the records; every partition falls behind; one does, and nothing shows why.
        Sick(lambda: paced(((0, 900), (5, 5), (9, 9)), ((99, 1200), (35, 35), (39, 39))), "group g2", WARNING),
        Sick(lambda: paced(((0, 500), (0, 400), (0, 600)), ((9, 530), (9, 430), (9, 630))), "group g2", WARNING),
        Sick(lambda: paced(((0, 500), (40, 40), (9, 9)), ((9, 530), (70, 70), (39, 39))), "group g2", WARNING),
        Sick(
            lambda: paced(((0, 50), (0, 40), (0, 60)), ((0, 80), (0, 70), (0, 90)), members=(), state="Empty"),
            "group g2",
            WARNING,
        ),
        Sick(
            lambda: paced(((300, 990), (300, 990), (300, 990)), ((390, 990), (390, 990), (390, 990)), start=(10, 200)),
            "unread records of group g2",
            WARNING,
        ),
        # A quota allows less than arrives; nothing is committed between two of its long pauses.
        Sick(lambda: limited(2000.0), "group g2", WARNING),
        Sick(lambda: limited(2000.0, moments=STILL), "group g2", WARNING),
        # Found by a plain diagnosis: what an earlier snapshot read.
        Sick(lambda: remembered(300, ((3, 90), (60, 90), (9, 9)), ((3, 120), (95, 99), (9, 9))), "group g2", WARNING),
        Sick(
            lambda: remembered(300, ((3, 90), (60, 90), (9, 9)), ((3, 120), (95, 99), (9, 9)), members=TWO),
            "group g2",
            WARNING,
        ),
    ],
}
WELL: dict[str, list[Callable[[], Snapshot]]] = {
    "KFX110": [
        lambda: read(reading()),
        lambda: read(reading(unconnected=None)),
    ],
    "KFX111": [
        lambda: read(reading(state="PreparingRebalance")),
        lambda: read(reading(state="PreparingRebalance"), reading()),
        # Members come and go: none of them is held.
        lambda: read(
            reading(state="PreparingRebalance"),
            reading(state="PreparingRebalance", members=(MEMBER._replace(id="c2-uuid"),)),
        ),
    ],
    "KFX112": [
        lambda: read(reading()),
        lambda: changed(base().topic("logs", 1, replicas=[[1, 2]]).kill(1)).snapshot(group_readings=(reading(),)),
    ],
    "KFX113": [
        lambda: read(reading(partitions=position(committed=20))),
        lambda: read(reading(partitions=position(committed=-1, start=5))),
        lambda: read(reading(partitions=position(committed=3, start=-1, end=-1, stable=-1, log_error="not read"))),
    ],
    "KFX116": [
        lambda: read(held()),
        # The transaction ended, and another one holds a later offset.
        lambda: read(held(), held(held={})),
        lambda: read(held(), held(held={ORDERS[0]: OpenBatch(18, 4001, 0, int((NOW - 95) * 1000))})),
        lambda: read(held(since=30), held(since=30)),
        lambda: read(
            held(since=30), held(since=30), transaction_log=transaction_log(started_ms=int((NOW - 30) * 1000))
        ),
        # It has read behind the last stable offset: it does not wait.
        lambda: read(*[held(partitions=position(committed=19, stable=18))] * 2),
        lambda: read(*[held(held={ORDERS[0]: OpenBatch(18, -1, -1, -1, "Fetch: error")})] * 2),
    ],
    "KFX117": [
        # The partition of the group has no leader: that is the cause, and names the group.
        lambda: text(f"{_COMMIT_FAILED}\n{_OFFSETS.format('none')}"),
        lambda: coordinator_stuck().snapshot(),
    ],
    "KFX122": [
        # Open at its coordinator, or its markers are being written.
        lambda: hanging(("Ongoing", 0)),
        lambda: hanging(("Ongoing", 0), ("PrepareAbort", 0)),
        # The end of the log was not read.
        lambda: hanging(unread=True),
        # It ended while the log was read.
        lambda: hanging(("PrepareCommit", 0), ("CompleteCommit", -1), held={}),
    ],
    "KFX123": [
        # A burst, the delay of a commit, a backlog of the night that is worked off, and a group that almost keeps up.
        lambda: paced(((900, 900), (900, 900), (900, 900)), ((1000, 1800), (1000, 1800), (1000, 1800))),
        lambda: paced(((90, 100), (90, 100), (90, 100)), ((190, 201), (190, 201), (190, 201))),
        lambda: paced(((0, 9000), (0, 9000), (0, 9000)), ((900, 9000), (900, 9000), (900, 9000))),
        lambda: paced(((0, 900), (0, 900), (0, 900)), ((95, 1000), (95, 1000), (95, 1000))),
        # A batch that is done, a group that nobody uses any more, and one that may commit once a minute.
        lambda: paced(((9, 9), (9, 9), (9, 9)), ((9, 9), (9, 9), (9, 9)), members=(), state="Empty"),
        lambda: paced(((9, 99), (9, 9), (9, 9)), ((9, 99), (9, 9), (9, 9)), members=(), state="Empty"),
        lambda: paced(((9, 900), (9, 900), (9, 900)), ((9, 930), (9, 930), (9, 930))),
        # Nothing is committed, and its quota allows more than arrives.
        lambda: limited(1e6, moments=STILL),
        # A record that came between two commits.
        lambda: paced(((9, 9), (9, 19), (9, 9)), ((9, 10), (19, 29), (9, 9))),
        # It waits for a transaction, which is the business of other checks.
        lambda: read(
            *(
                reading(
                    partitions={
                        ORDERS[0]: AT_END._replace(committed=5, stable=5),
                        ORDERS[1]: AT_END._replace(committed=n),
                    }
                )
                for n in (4, 19)
            )
        ),
        # A topic that the group no longer reads.
        lambda: paced(
            ((9, 90), (9, 19), (9, 9)), ((9, 120), (19, 29), (9, 9)), members=(TWO[0]._replace(assigned=ORDERS[1:]),)
        ),
        # Two readings of one plain diagnosis show less than a minute.
        lambda: paced(((3, 90), (60, 90), (9, 9)), ((3, 120), (95, 99), (9, 9)), members=None),
        # Earlier snapshots that are too young or too old, and a group that reads everything.
        lambda: remembered(30, ((3, 90), (60, 90), (9, 9)), ((3, 120), (95, 99), (9, 9))),
        lambda: remembered(7200, ((3, 90), (60, 90), (9, 9)), ((3, 120), (95, 99), (9, 9))),
        lambda: remembered(300, ((3, 90), (60, 90), (9, 9)), ((4, 920), (95, 999), (9, 9))),
        # Its consumers are restarted: it lagged for a moment only.
        restarted,
        # Behind the markers of a transaction, which a plain diagnosis does not read.
        lambda: remembered(300, ((89, 90), (60, 90), (9, 9)), ((89, 90), (95, 99), (9, 9))),
        # A segment is deleted: the start of the log moves by far more than the group reads, and stays far behind it.
        lambda: paced(((900, 910), (900, 910), (900, 910)), ((990, 999), (990, 999), (990, 999)), start=(0, 400)),
        # Retention deletes what the group has read.
        lambda: paced(((900, 990), (900, 990), (900, 990)), ((990, 999), (990, 999), (990, 999)), start=(10, 50)),
    ],
}
