"""Probes of eligible and last known leaders, which only KRaft has, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.kraft import MemoryKraftCluster
from tests.unit.heal.actions.acting import ON_TP, TP, four_brokers

ON_ELIGIBLE: Mapping[str, ArgValue] = {"partition": "orders-2"}


def led_last_by_another() -> MemoryCluster:
    cluster = INCIDENTS["eligible-waits"]().cluster
    assert isinstance(cluster, MemoryKraftCluster)
    cluster.kraft.last_known = dict.fromkeys(cluster.kraft.last_known, (7,))
    return cluster


def settings_unread() -> MemoryCluster:
    """The active controller answers without the topic's settings."""
    cluster = INCIDENTS["eligible-waits"]().cluster
    cluster.configs = lambda *_: {}  # type: ignore[method-assign]
    return cluster


def eligible_waits(*, cut: int = 0, fetched: int = 0, by: float = 0.4) -> Callable[[], MemoryCluster]:
    """Broker `cut` answers although it is fenced; broker `fetched` fetched metadata `by` seconds ago."""

    def make() -> MemoryCluster:
        cluster = INCIDENTS["eligible-waits"]().cluster
        assert isinstance(cluster, MemoryKraftCluster)
        cluster.cut |= {cut} - {0}
        cluster.fetched |= {fetched: by} if fetched else {}
        return cluster

    return make


def only_last_known(*, runs: bool, asked: bool = True) -> Callable[[], MemoryCluster]:
    """ISR and ELR are empty, and broker 1 led last; it may run. Without `asked`, no broker reports who may lead."""

    def make() -> MemoryCluster:
        cluster = eligible_waits(cut=1 if runs else 0)()
        assert isinstance(cluster, MemoryKraftCluster)
        tp = TopicPartition("orders", 2)
        cluster.kraft.elr = {**cluster.kraft.elr, tp: ()}
        cluster.reports_eligible = asked
        return cluster

    return make


def in_sync_and_fenced(*, cut: bool) -> Callable[[], MemoryCluster]:
    """As Kafka 3.9, without eligible replicas: broker 1 alone is in the ISR, and is fenced; it may run."""

    def make() -> MemoryCluster:
        cluster = eligible_waits(cut=1 if cut else 0)()
        assert isinstance(cluster, MemoryKraftCluster)
        cluster.reports_fenced = False
        tp = TopicPartition("orders", 2)
        cluster.kraft.forget(tp)
        cluster.records.states[tp] = cluster.records.states[tp]._replace(isr=(1,))
        return cluster

    return make


def allowed_with_isr(*isr: int) -> Callable[[], MemoryCluster]:
    """Unclean elections are allowed, and the partition has this ISR, of which no member is alive."""

    def make() -> MemoryCluster:
        cluster = INCIDENTS["eligible-waits-unclean-allowed"]().cluster
        assert isinstance(cluster, MemoryKraftCluster)
        tp = TopicPartition("orders", 2)
        cluster.kraft.forget(tp)
        cluster.records.states[tp] = cluster.records.states[tp]._replace(isr=isr)
        return cluster

    return make


def without_a_state() -> MemoryCluster:
    """Who leads orders-0 is unknown: it is assigned, and the metadata that was read does not have it."""
    cluster = INCIDENTS["weak-topic-rf3-kraft"]().cluster
    del cluster.records.states[TP]
    return cluster


def allowed_on_the_only_replica() -> MemoryCluster:
    """Unclean elections are allowed, and the partition has one replica, whose broker is dead: none can win but it."""
    cluster = INCIDENTS["eligible-waits-unclean-allowed"]().cluster
    assert isinstance(cluster, MemoryKraftCluster)
    tp = TopicPartition("orders", 2)
    cluster.records.assignments[tp] = Assignment((1,))
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
    ("elr_not_needed", without_a_state, {"topic": "orders"}, "inconclusive", "partitions unknown; orders-0"),
    ("elr_not_needed", without_a_state, {"topic": "nowhere"}, "inconclusive", "there is no partition"),
    ("every_partition_led", without_a_state, {"topic": "orders"}, "inconclusive", "orders-0"),
    ("every_partition_led", four_brokers, {"topic": TP.topic}, "pass", "ZooKeeper"),
    (
        "every_partition_led",
        lambda: INCIDENTS["weak-topic-rf3-kraft"]().cluster,
        {"topic": "orders"},
        "pass",
        "partitions have one",
    ),
    ("every_partition_led", lambda: INCIDENTS["eligible-waits"]().cluster, {"topic": "orders"}, "fail", "leader none"),
    ("every_partition_led", lambda: INCIDENTS["eligible-waits"]().cluster, {"topic": ""}, "fail", "leader none"),
    (
        "every_partition_led",
        lambda: INCIDENTS["weak-topic-rf3-kraft"]().cluster,
        {"topic": "nothing"},
        "inconclusive",
        "there is no partition",
    ),
    ("isr_is_dead", eligible_waits(), ON_ELIGIBLE, "pass", "leader none"),
    ("isr_is_dead", eligible_waits(cut=1), ON_ELIGIBLE, "fail", "broker 1 runs, although it is fenced: its address"),
    ("isr_is_dead", eligible_waits(fetched=2), ON_ELIGIBLE, "fail", "broker 2 runs, although it is fenced: it fetched"),
    ("isr_is_dead", eligible_waits(fetched=2, by=3.0), ON_ELIGIBLE, "pass", "leader none"),
    ("isr_is_dead", only_last_known(runs=False), ON_ELIGIBLE, "pass", "leader none"),
    ("isr_is_dead", only_last_known(runs=True), ON_ELIGIBLE, "fail", "broker 1 runs, although it is fenced"),
    (
        "isr_is_dead",
        only_last_known(runs=False, asked=False),
        ON_ELIGIBLE,
        "inconclusive",
        "and who may lead is unknown",
    ),
    ("isr_is_dead", in_sync_and_fenced(cut=False), ON_ELIGIBLE, "pass", "ISR [1]"),
    ("isr_is_dead", in_sync_and_fenced(cut=True), ON_ELIGIBLE, "fail", "broker 1 runs, although it is fenced"),
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
    ("no_unclean_at_start", settings_unread, ON_ELIGIBLE, "inconclusive", "enable unknown"),
    ("no_unclean_at_start", allowed_with_isr(1), ON_ELIGIBLE, "fail", "enable true"),
    ("no_unclean_at_start", allowed_on_the_only_replica, ON_ELIGIBLE, "pass", "broker 1 has the only replica"),
    ("no_unclean_at_start", allowed_with_isr(1, 2, 3), ON_ELIGIBLE, "pass", "every replica is in the ISR [1, 2, 3]"),
)
