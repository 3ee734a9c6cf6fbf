"""Configs, log directories, tails, stable ends and the lock of the in-memory cluster, as seen on Kafka 2.7.1."""

from __future__ import annotations

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import HeldError, UnreachableError
from kfix.core.ports import ClusterChanger, ClusterLock, ClusterReader
from kfix.core.snapshot.reading import ConfigValue, LogTail, ResourceKind, StableEnd
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, MIN_ISR, UNCLEAN
from kfix.heal.memory.faults import Call
from kfix.heal.memory.incidents import ALL, STUCK
from tests.each import for_each

TP = TopicPartition("orders", 0)
TOPIC, BROKER = ResourceKind.TOPIC, ResourceKind.BROKER


def cluster() -> MemoryCluster:
    return MemoryCluster.healthy(topics={"orders": 3, OFFSETS_TOPIC: 5})


def in_force(c: MemoryCluster, kind: ResourceKind, name: str, key: str) -> ConfigValue | None:
    return c.configs(kind, name, (key,)).get(key)


def test_it_is_all_three_ports() -> None:
    c = cluster()
    reader: ClusterReader = c.reader
    changer: ClusterChanger = c.changer
    lock: ClusterLock = c.lock
    assert (reader, changer, lock) == (c, c, c.lock)


def test_a_topics_value_comes_from_itself_then_its_broker_then_the_default() -> None:
    c = cluster()
    assert in_force(c, TOPIC, "orders", MIN_ISR) == ConfigValue("1", own=False)
    c.settings.properties[MIN_ISR] = "3"
    assert in_force(c, TOPIC, "orders", MIN_ISR) == ConfigValue("3", own=False)
    assert c.alter_configs(TOPIC, "orders", {MIN_ISR: "2"}).accepted
    assert in_force(c, TOPIC, "orders", MIN_ISR) == ConfigValue("2", own=True)
    assert c.alter_configs(TOPIC, "orders", {MIN_ISR: None, "never.was": None}).accepted
    assert in_force(c, TOPIC, "orders", MIN_ISR) == ConfigValue("3", own=False)
    assert c.faults.calls[0] == Call("alter_configs", (TOPIC, "orders", ((MIN_ISR, "2"),)))


def test_throttles_are_an_empty_list_on_a_topic_and_absent_on_a_broker() -> None:
    c = cluster()
    assert in_force(c, TOPIC, "orders", FOLLOWER_REPLICAS) == ConfigValue("", own=False)
    assert in_force(c, BROKER, "2", FOLLOWER_RATE) is None
    c.alter_configs(BROKER, "2", {FOLLOWER_RATE: "1000"})
    assert in_force(c, BROKER, "2", FOLLOWER_RATE) == ConfigValue("1000", own=True)
    assert in_force(c, BROKER, "1", FOLLOWER_RATE) is None
    assert in_force(c, BROKER, "2", "broker.rack") == ConfigValue("az2", own=False)
    assert in_force(c, BROKER, "2", "default.replication.factor") == ConfigValue("1", own=False)


@for_each(
    ("kind", "name", "changes", "code"),
    [
        (TOPIC, "nowhere", {MIN_ISR: "2"}, 3),
        (TOPIC, "orders", {MIN_ISR: "0"}, 42),
        (TOPIC, "orders", {MIN_ISR: "two"}, 42),
        (TOPIC, "orders", {UNCLEAN: "true", MIN_ISR: ""}, 42),
        (TOPIC, "orders", {FOLLOWER_REPLICAS: "all"}, 42),
        (TOPIC, "orders", {"nonsense": "1"}, 40),
        (BROKER, "1", {FOLLOWER_RATE: "fast"}, 42),
        (BROKER, "9", {FOLLOWER_RATE: "1"}, 41),
    ],
)
def test_a_bad_change_is_refused_as_a_whole(
    kind: ResourceKind, name: str, changes: dict[str, str | None], code: int
) -> None:
    c = cluster()
    assert c.alter_configs(kind, name, changes).code == code
    assert c.records.topic_configs.get("orders", {}) == {}
    assert c.brokers[1].configs == {}


def test_what_does_not_exist_or_does_not_answer_is_an_error() -> None:
    c = cluster()
    c.silence(3)
    for kind, name in ((TOPIC, "nowhere"), (BROKER, "9"), (BROKER, "3")):
        with pytest.raises(UnreachableError):
            c.configs(kind, name, (MIN_ISR,))
    with pytest.raises(UnreachableError, match="no answer in time"):
        c.log_dirs(3)
    assert c.log_tails(TP, (3,))[3] == LogTail(-1, -1, -1, "no answer")


def test_unclean_on_an_offline_topic_elects_at_once_and_in_the_stuck_state_does_nothing() -> None:
    dead = MemoryCluster.healthy(topics={"orders": 1})
    dead.control.fail_over_to(2)
    dead.kill(3)
    dead.records.write_state(TP, 1, 5, (1,))
    dead.control.fail_over_to(2)
    dead.kill(1)
    assert dead.records.states[TP].leader == -1
    dead.alter_configs(TOPIC, "orders", {UNCLEAN: "true"})
    assert (dead.records.states[TP].leader, dead.records.states[TP].isr) == (2, (2,))
    stuck = ALL["coordinator-stuck"]().cluster
    stuck.alter_configs(TOPIC, OFFSETS_TOPIC, {UNCLEAN: "true"})
    assert stuck.records.states[STUCK].leader == -1


def test_log_directories_show_sizes_and_the_room_that_is_set() -> None:
    c = cluster()
    assert c.log_dirs(1).free is None
    c.brokers[1].free = 5_000
    c.append(TP, 20, (1,))
    told = c.log_dirs(1)
    assert (told.free, told.sizes[TP], len(told.sizes)) == (5_000, 12_000, 8)


def test_a_tail_has_the_epoch_of_its_last_record() -> None:
    c = cluster()
    c.append(TP, 5, (1,), epoch=4)
    assert c.log_tails(TP, (1, 2)) == {1: LogTail(0, 105, 4), 2: LogTail(0, 100, 0)}
    c.add_partition(TopicPartition("empty", 0), (1,), end=0)
    assert c.log_tails(TopicPartition("empty", 0), (1, 2))[1].epoch == -1
    assert c.log_tails(TopicPartition("empty", 0), (2,))[2].error == "no such replica"


def test_an_open_transaction_holds_the_stable_end_back() -> None:
    c = cluster()
    assert c.stable_end(TP) == StableEnd(100, 100)
    c.logs.open_transactions[TP] = 60
    assert c.stable_end(TP) == StableEnd(60, 100)
    with pytest.raises(UnreachableError, match="nowhere-0: does not exist"):
        c.stable_end(TopicPartition("nowhere", 0))
    with pytest.raises(UnreachableError, match="has no leader"):
        ALL["coordinator-stuck-isr-dead"]().cluster.stable_end(STUCK)
    c.phantom_leader(TP, leader=2)
    with pytest.raises(UnreachableError, match="NOT_LEADER_OR_FOLLOWER"):
        c.stable_end(TP)


def test_assignments_of_one_topic_are_read_with_what_is_under_way() -> None:
    c = MemoryCluster.healthy(brokers=4, topics={"orders": 1, "other": 1})
    c.copy_seconds = 60
    c.reassign(TP, (4, 2, 3))
    assert c.assignments("orders") == {TP: Assignment((4, 2, 3, 1), (4,), (1,))}
    assert c.assignments("nowhere") == {}


def test_faults_reach_the_new_calls() -> None:
    c = cluster()
    asks = {
        "configs": lambda: c.configs(TOPIC, "orders", ()),
        "log_dirs": lambda: c.log_dirs(1),
        "log_tails": lambda: c.log_tails(TP, (1,)),
        "stable_end": lambda: c.stable_end(TP),
        "assignments": lambda: c.assignments("orders"),
    }
    for method, ask in asks.items():
        c.faults.unreadable[method] = "gone"
        with pytest.raises(UnreachableError, match=f"{method}: gone"):
            ask()
    for applied in (True, False):
        c = cluster()
        c.faults.lose_answer("alter_configs", applied=applied)
        assert c.alter_configs(TOPIC, "orders", {MIN_ISR: "2"}).unknown
        assert (MIN_ISR in c.records.topic_configs.get("orders", {})) is applied
    c.faults.before("alter_configs", lambda: c.kill(2))
    c.alter_configs(TOPIC, "orders", {MIN_ISR: "2"})
    assert not c.brokers[2].alive


def test_the_lock_can_be_had_by_another_be_missing_and_be_lost() -> None:
    lock = cluster().lock
    lock.take({"user": "ann"})
    assert lock.held()
    lock.lose(after_calls=1)
    assert [lock.held(), lock.held(), lock.held()] == [True, False, False]
    lock.release()
    lock.hold_by({"user": "bob", "run": "r9"})
    with pytest.raises(HeldError, match=r"memory-cluster is held by bob .* run r9"):
        lock.take({"user": "ann"})
    lock.release()
    assert lock.holder is not None
    lock.missing = "not allowed to write /kfix/lock"
    with pytest.raises(UnreachableError, match="there is no lock: not allowed"):
        lock.take({"user": "ann"})


def test_a_released_lock_is_free_again() -> None:
    lock = cluster().lock
    lock.take({"user": "ann"})
    lock.release()
    assert (lock.held(), lock.holder) == (False, None)
    lock.take({"user": "bob"})
    assert lock.held()
