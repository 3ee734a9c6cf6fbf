"""Reassignments, throttles, unclean elections and phantom leaders in memory, as seen on Kafka 2.7.1."""

from __future__ import annotations

import pytest

from kfix.core.criteria import Criteria
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.diagnosis.finding import Finding
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import Assignment, LogEnd, TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, MIN_ISR
from kfix_diagnostics.engine import diagnose

TP = TopicPartition("orders", 0)
TOPIC, BROKER = ResourceKind.TOPIC, ResourceKind.BROKER


def four() -> MemoryCluster:
    """Brokers 1 to 4, controller 4, orders-0 on [1, 2, 3] with 100 records, which are 10 000 bytes."""
    c = MemoryCluster.healthy(brokers=4, topics={"orders": 1})
    c.control.fail_over_to(4)
    return c


def state(c: MemoryCluster) -> tuple[int, tuple[int, ...]]:
    return c.records.states[TP].leader, c.records.states[TP].isr


# -- moves that take time


def test_a_copy_takes_its_time_and_grows_meanwhile() -> None:
    c = four()
    c.copy_seconds = 10
    assert c.reassign(TP, (4, 2, 3)).accepted
    c.advance(5)
    assert c.reassignments() == {TP: Assignment((4, 2, 3, 1), (4,), (1,))}
    assert c.log_dirs(4).sizes[TP] == 5_000
    c.advance(5)
    assert c.reassignments() == {}
    assert c.records.assignments[TP] == Assignment((4, 2, 3))
    assert state(c)[0] == 4
    assert set(state(c)[1]) == {2, 3, 4}
    assert TP not in c.log_dirs(1).sizes


def test_a_throttle_sets_the_pace_by_bytes_and_is_shared() -> None:
    c = four()
    c.add_partition(TopicPartition("orders", 1), (1, 2, 3))
    c.alter_configs(BROKER, "4", {FOLLOWER_RATE: "1000"})
    c.alter_configs(TOPIC, "orders", {FOLLOWER_REPLICAS: "0:4,1:4"})
    c.reassign(TP, (1, 2, 4))
    c.advance(9)
    assert TP in c.reassignments()
    c.reassign(TopicPartition("orders", 1), (1, 2, 4))
    c.advance(1)
    assert TP in c.reassignments()
    c.advance(1)
    assert TP not in c.reassignments()
    c.alter_configs(BROKER, "4", {FOLLOWER_RATE: None})
    c.advance(1)
    assert c.reassignments() == {}


@pytest.mark.parametrize("listed", ["", "0:3", "1:4"])
def test_a_rate_without_the_replica_in_the_list_holds_nothing(listed: str) -> None:
    c = four()
    c.alter_configs(BROKER, "4", {FOLLOWER_RATE: "1"})
    c.alter_configs(TOPIC, "orders", {FOLLOWER_REPLICAS: listed})
    c.reassign(TP, (1, 2, 4))
    c.advance(1)
    assert c.reassignments() == {}


def test_a_dead_destination_stalls_for_ever_and_goes_on_when_it_is_back() -> None:
    c = four()
    c.control.fail_over_to(1)
    c.copy_seconds = 10
    c.reassign(TP, (1, 2, 4))
    c.kill(4)
    c.advance(9_999)
    assert TP in c.reassignments()
    c.revive(4)
    c.advance(10)
    assert c.reassignments() == {}


def test_a_cancelled_move_deletes_the_new_copy() -> None:
    c = four()
    c.copy_seconds = 10
    c.reassign(TP, (4, 2, 3))
    c.advance(5)
    assert c.reassign(TP, None).accepted
    assert c.records.assignments[TP] == Assignment((2, 3, 1))
    assert state(c) == (1, (1, 2, 3))
    assert TP not in c.log_dirs(4).sizes


def test_a_cancel_whose_original_replicas_are_dead_leaves_no_leader_and_deletes_the_last_copy() -> None:
    """KAFKA-14424, and worse: seen on 2.7.1, the isr goes on naming the broker whose log is gone."""
    c = MemoryCluster.healthy(brokers=4, topics={"orders": 1}, replication=1)
    c.control.fail_over_to(2)
    c.kill(4)
    assert c.reassign(TP, (3, 4)).code == 39
    c.revive(4)
    c.copy_seconds = 100
    c.reassign(TP, (3, 4))
    c.kill(4)
    c.copy_seconds = 0
    c.advance(1)
    assert state(c) == (1, (1, 3))
    c.kill(1)
    assert state(c) == (3, (3,))
    assert c.reassign(TP, None).accepted
    assert state(c) == (-1, (3,))
    assert c.records.assignments[TP] == Assignment((1,))
    assert c.log_ends(TP, (3,))[3].error == "no such replica"
    c.reassign(TP, (3,))
    assert state(c) == (3, (3,))
    assert c.log_dirs(3).sizes.get(TP, 0) == 0


def test_dead_brokers_may_stay_in_a_list_and_not_enter_it() -> None:
    c = four()
    c.kill(3)
    assert c.reassign(TP, (1, 2, 3)).accepted
    assert c.reassign(TP, (3, 2, 1)).accepted
    assert state(c) == (1, (1, 2))
    c.kill(4)
    assert c.reassign(TP, (1, 2, 4)).code == 39
    assert c.reassign(TP, (1, 2, 77)).code == 39


def test_replicas_that_are_left_out_of_the_list_lose_their_logs() -> None:
    c = four()
    assert c.reassign(TP, (2,)).accepted
    assert state(c) == (2, (2,))
    assert [b for b in (1, 2, 3) if TP in c.log_dirs(b).sizes] == [2]


def test_a_new_target_replaces_the_one_under_way() -> None:
    c = four()
    c.add_broker(5)
    c.copy_seconds = 10
    c.reassign(TP, (4, 2, 3))
    c.advance(5)
    c.reassign(TP, (5, 2, 3))
    assert c.records.assignments[TP] == Assignment((5, 2, 3, 1), (5,), (1,))
    assert TP not in c.log_dirs(4).sizes
    c.advance(10)
    assert c.records.assignments[TP] == Assignment((5, 2, 3))


# -- truly unclean


def test_an_unclean_election_loses_what_the_winner_lacks_when_the_old_leader_returns() -> None:
    c = four()
    c.kill(2)
    c.kill(3)
    c.append(TP, 50, (1,), epoch=1)
    c.kill(1)
    assert state(c) == (-1, (1,))
    c.revive(3)
    assert c.elect(TP, unclean=True).accepted
    assert state(c) == (3, (3,))
    c.append(TP, 10, (3,), epoch=9)
    assert c.logs.end(TP, 1) == LogEnd(0, 150)
    c.revive(1)
    assert c.logs.end(TP, 1) == LogEnd(0, 110)
    c.advance(1)
    assert c.log_tails(TP, (1, 3))[1] == c.log_tails(TP, (1, 3))[3]
    assert set(state(c)[1]) == {3, 1}


# -- phantom leaders


def phantom() -> tuple[MemoryCluster, TopicPartition]:
    c = MemoryCluster.healthy(groups={"payments": 42})
    tp = TopicPartition(OFFSETS_TOPIC, partition_of_group("payments", 50))
    order = c.records.assignments[tp].replicas
    c.phantom_leader(tp, leader=order[1])
    return c, tp


def test_a_phantom_leader_is_named_and_does_not_answer() -> None:
    c, tp = phantom()
    c.advance(3600)
    probe = c.probe_group("payments")
    assert (probe.find_error, probe.coordinator, probe.fetch_error) == (0, c.records.states[tp].leader, 16)
    assert c.partition(tp).diverged is False


def test_a_no_op_reassignment_or_another_leader_ends_a_phantom() -> None:
    c, tp = phantom()
    assert c.reassign(tp, c.records.assignments[tp].replicas).accepted
    assert c.probe_group("payments").answers
    c, tp = phantom()
    assert c.elect(tp, unclean=False).accepted
    assert c.probe_group("payments").answers
    c, tp = phantom()
    c.revive(c.records.states[tp].leader)
    assert c.probe_group("payments").answers


# -- the snapshot shows all of it to the diagnostics


def codes(c: MemoryCluster) -> set[str]:
    c.advance(60)

    def walk(findings: tuple[Finding, ...]) -> set[str]:
        return {f.code for f in findings}.union(*(walk(f.folded) for f in findings))

    return walk(diagnose(c.snapshot(), criteria=Criteria(restart_grace=0)).findings)


def test_a_healthy_cluster_has_no_findings() -> None:
    assert codes(MemoryCluster.healthy(groups={"g": 1})) == set()


def test_a_dead_isr() -> None:
    c = MemoryCluster.healthy()
    c.corrupt_state(TP, leader=1, isr=(1,))
    c.kill(1)
    assert "KFX103" in codes(c)


def test_no_live_replica() -> None:
    c = MemoryCluster.healthy(brokers=4, replication=2, topics={"orders": 4})
    c.kill(1)
    c.kill(2)
    assert "KFX104" in codes(c)


def test_replicas_under_an_id_without_a_broker() -> None:
    c = MemoryCluster.healthy(brokers=4, replication=1, topics={"orders": 4})
    c.remove_broker(2)
    c.add_broker(9)
    assert "KFX105" in codes(c)


def test_a_silent_coordinator() -> None:
    assert codes(phantom()[0]) == {"KFX106"}


@pytest.mark.parametrize(("topic", "code"), [("orders", "KFX301"), (OFFSETS_TOPIC, "KFX304")])
def test_too_few_in_sync(topic: str, code: str) -> None:
    c = MemoryCluster.healthy()
    c.alter_configs(TOPIC, topic, {MIN_ISR: "2"})
    c.kill(2)
    c.kill(3)
    assert code in codes(c)


def test_too_few_replicas_and_too_close_together() -> None:
    assert codes(MemoryCluster.healthy(replication=1)) == {"KFX303", "KFX305"}
    packed = MemoryCluster.healthy(brokers=4, racks={1: "a", 2: "a", 3: "a", 4: "b"}, topics={"orders": 1})
    assert codes(packed) == {"KFX305"}


def test_a_reassignment_that_waits_for_the_dead() -> None:
    c = four()
    c.control.fail_over_to(1)
    c.copy_seconds = 100
    c.reassign(TP, (1, 2, 4))
    c.kill(4)
    assert "KFX501" in codes(c)
