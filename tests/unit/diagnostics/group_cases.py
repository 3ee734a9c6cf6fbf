"""States of single groups, and of texts with the errors of groups: where each check finds something, and where not."""

from __future__ import annotations

from collections.abc import Callable

from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import Severity
from tests.unit.diagnostics.clusters import base, changed, coordinator_stuck, text
from tests.unit.diagnostics.group_readings import (
    MEMBER,
    assigned_partition_leaderless,
    coordinator_unreachable,
    held_by_one_of,
    position,
    read,
    reading,
    rebalance_held,
)
from tests.unit.diagnostics.sick import Sick

WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL

_COMMIT_FAILED = (
    "[Consumer clientId=c, groupId=billing] Offset commit failed on partition orders-0 at offset 5: The coordinator is "
    "not available."
)
_OFFSETS = (
    "Topic: __consumer_offsets PartitionCount: 1 ReplicationFactor: 2 Configs:\n"
    "Topic: __consumer_offsets Partition: 0 Leader: {} Replicas: 2,1 Isr: 2,1"
)

SICK: dict[str, list[Sick]] = {
    "KFX110": [Sick(coordinator_unreachable, "coordinator on broker 2", CRITICAL)],
    "KFX111": [
        Sick(rebalance_held, "group g2", CRITICAL),
        Sick(lambda: held_by_one_of(MEMBER, MEMBER._replace(id="c2-uuid", instance="worker-2")), "group g2", CRITICAL),
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
    "KFX117": [
        Sick(lambda: text(_COMMIT_FAILED), "group billing", CRITICAL),
        Sick(lambda: text(f"{_COMMIT_FAILED}\n{_OFFSETS.format(2)}"), "group billing", CRITICAL),
        Sick(lambda: text("x : {orders=LEADER_NOT_AVAILABLE}"), "topic orders", CRITICAL),
        Sick(lambda: text("LeaderId:  -1"), "no leader of the KRaft quorum", CRITICAL),
        Sick(lambda: text("Node does not exist: /controller"), "no controller", CRITICAL),
        Sick(
            lambda: text('{"brokers":[{"broker":2,"logDirs":[{"logDir":"/b","error":"KafkaStorageException"}]}]}'),
            "brokers with a failed log directory",
            WARNING,
        ),
        Sick(
            lambda: text("Error: Executing consumer group command failed due to x: The coordinator is not available."),
            "a group that the text does not name",
            CRITICAL,
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
    "KFX117": [
        # The partition of the group has no leader: that is the cause, and names the group.
        lambda: text(f"{_COMMIT_FAILED}\n{_OFFSETS.format('none')}"),
        lambda: coordinator_stuck().snapshot(),
    ],
}
