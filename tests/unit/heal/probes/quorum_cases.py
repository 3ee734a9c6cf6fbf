"""Probes of a quorum that has lost its majority and of its recovery, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.core.snapshot.recovery import NewLog, partitions_text
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.kraft import MemoryKraftCluster

Case = tuple[str, Callable[[], MemoryKraftCluster], Mapping[str, ArgValue], str, str]

ORDER = NewLog("/disks/new", "/disks/1", 102, 5, 100, 100_007)
NEW: Mapping[str, ArgValue] = {
    "into": ORDER.into,
    "seed": ORDER.folder,
    "node": ORDER.node,
    "epoch": ORDER.epoch,
    "end": ORDER.end,
    "fence": ORDER.fence,
}


def lost() -> MemoryKraftCluster:
    cluster = INCIDENTS["quorum-majority-lost"]().cluster
    assert isinstance(cluster, MemoryKraftCluster)
    return cluster


def silent() -> MemoryKraftCluster:
    cluster = lost()
    for broker in cluster.brokers:
        cluster.silence(broker)
    return cluster


def recovered() -> MemoryKraftCluster:
    cluster = lost()
    cluster.write_metadata_log(ORDER)
    return cluster


def without(tp: TopicPartition) -> Callable[[], MemoryKraftCluster]:
    def made() -> MemoryKraftCluster:
        cluster = recovered()
        del cluster.records.assignments[tp]
        return cluster

    return made


def with_(change: Callable[[MemoryKraftCluster], object]) -> Callable[[], MemoryKraftCluster]:
    def made() -> MemoryKraftCluster:
        cluster = recovered()
        change(cluster)
        return cluster

    return made


FIRST = TopicPartition("orders", 0)
BEFORE: Mapping[str, ArgValue] = {"brokers": (1, 2, 3), "before": partitions_text(lost().applied().partitions)}

CASES: tuple[Case, ...] = (
    ("no_active_controller", lost, {}, "pass", "applied by the brokers: 1:99 2:99 3:99"),
    ("no_active_controller", recovered, {}, "fail", "controller 102 is active"),
    ("no_active_controller", silent, {}, "inconclusive", "no broker answers"),
    ("quorum_led_by", recovered, {"node": 102}, "pass", "controller 102 is active"),
    ("quorum_led_by", recovered, {"node": 101}, "fail", "controller 102 is active"),
    ("metadata_log_written", recovered, NEW, "pass", "voters [102], epoch 100007, log end 101"),
    ("metadata_log_written", lost, NEW, "fail", "/disks/new does not exist"),
    ("metadata_log_written", recovered, {**NEW, "node": 101}, "fail", "voters [102]"),
    ("metadata_log_written", recovered, {**NEW, "fence": 100_008}, "fail", "epoch 100007"),
    ("partitions_as_before", recovered, BEFORE, "pass", "6 partitions, as before"),
    ("partitions_as_before", lost, BEFORE, "inconclusive", "no active controller answers"),
    ("partitions_as_before", without(FIRST), BEFORE, "fail", "orders-0 is gone"),
    ("partitions_as_before", with_(lambda c: c.kill(3)), BEFORE, "fail", "not registered: [3]"),
    ("partitions_as_before", with_(lambda c: c.kill(3)), {**BEFORE, "brokers": (1, 2)}, "pass", "as before"),
    (
        "partitions_as_before",
        with_(lambda c: c.kraft.leave_isr(FIRST, 2)),
        BEFORE,
        "fail",
        "orders-0: [2] left the ISR",
    ),
    (
        "partitions_as_before",
        with_(lambda c: c.add_partition(TopicPartition("new", 0), (1,))),
        BEFORE,
        "fail",
        "new-0 is new",
    ),
)
