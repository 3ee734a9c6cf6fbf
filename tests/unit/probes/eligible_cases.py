"""Probes of eligible and last known leaders, which only KRaft has, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.adapters.memory.cluster import MemoryCluster
from kfix.adapters.memory.incidents import ALL as INCIDENTS
from kfix.adapters.memory.kraft_cluster import MemoryKraftCluster
from kfix.model.plan.args import ArgValue
from tests.unit.actions.acting import ON_TP, TP, four_brokers

ON_ELIGIBLE: Mapping[str, ArgValue] = {"partition": "orders-2"}


def led_last_by_another() -> MemoryCluster:
    cluster = INCIDENTS["eligible-waits"]().cluster
    assert isinstance(cluster, MemoryKraftCluster)
    cluster.kraft.last_known = dict.fromkeys(cluster.kraft.last_known, (7,))
    return cluster


Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]
CASES: tuple[Case, ...] = (
    ("elr_not_needed", four_brokers, {"topic": TP.topic}, "pass", "ZooKeeper"),
    (
        "elr_not_needed",
        lambda: INCIDENTS["weak-topic-rf3-kraft"]().cluster,
        {"topic": "orders"},
        "pass",
        "partitions do",
    ),
    ("elr_not_needed", lambda: INCIDENTS["eligible-waits"]().cluster, {"topic": "orders"}, "fail", "eligible [2, 1]"),
    ("elr_not_needed", lambda: INCIDENTS["eligible-waits"]().cluster, {"topic": ""}, "fail", "last known leader [1]"),
    ("elr_not_needed", lambda: INCIDENTS["eligible-forgotten"]().cluster, {"topic": "orders"}, "fail", "leader none"),
    ("last_known_is_replica", four_brokers, ON_TP, "pass", "no last known leader is kept"),
    ("last_known_is_replica", lambda: INCIDENTS["eligible-waits"]().cluster, ON_ELIGIBLE, "pass", "leader [1]"),
    ("last_known_is_replica", led_last_by_another, ON_ELIGIBLE, "fail", "leader [7], replicas [3,2,1]"),
    ("no_unclean_at_start", four_brokers, ON_TP, "pass", "ZooKeeper"),
    ("no_unclean_at_start", lambda: INCIDENTS["eligible-waits"]().cluster, ON_ELIGIBLE, "pass", "enable false"),
    (
        "no_unclean_at_start",
        lambda: INCIDENTS["eligible-waits-unclean-allowed"]().cluster,
        ON_ELIGIBLE,
        "fail",
        "enable true",
    ),
)
