"""The in-memory cluster does what a real one was seen to do (kafka-facts B), move by move."""

from __future__ import annotations

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL, ORDERS, STUCK

TP = TopicPartition("orders", 0)


def cluster() -> MemoryCluster:
    """Brokers 1, 2, 3, controller 1, orders-0 on [1, 2, 3]."""
    return MemoryCluster.healthy(topics={"orders": 3, OFFSETS_TOPIC: 5})


def leader(c: MemoryCluster, tp: TopicPartition = TP) -> tuple[int, int, tuple[int, ...]]:
    state = c.records.states[tp]
    return state.leader, state.leader_epoch, state.isr


def stuck() -> MemoryCluster:
    return ALL["coordinator-stuck"]().cluster


def test_a_healthy_cluster_agrees_with_itself() -> None:
    c = cluster()
    reading = c.partition(TP)
    assert reading.leaderless is False
    assert reading.diverged is False
    assert set(reading.views) == {1, 2, 3}


def test_the_death_of_a_leader_elects_the_first_live_isr_member_and_raises_the_epoch_by_one() -> None:
    c = cluster()
    tp = TopicPartition("orders", 1)
    c.kill(2)
    assert leader(c, tp) == (3, 1, (3, 1))


def test_the_death_of_a_leader_that_is_controller_raises_the_epoch_by_two() -> None:
    c = cluster()
    c.kill(1)
    assert leader(c) == (2, 2, (2, 3))
    assert c.controller().broker == 2
    assert c.controller().epoch == 2


def test_the_founding_incident_arises_as_it_did() -> None:
    c = stuck()
    assert leader(c, STUCK) == (-1, 2, (2,))
    assert c.control.memory[STUCK].phase == "online"
    c.advance(3600)
    assert leader(c, STUCK) == (-1, 2, (2,))


def test_while_it_is_latent_everything_works() -> None:
    c = ALL["metadata-divergence"]().cluster
    assert {v.leader for v in c.partition(STUCK).views.values()} == {3}
    assert c.partition(STUCK).diverged is True
    assert c.probe_group(next(f"g{n}" for n in range(999) if partition_of_group(f"g{n}", 50) == 26)).answers


def test_in_the_stuck_state_the_coordinator_is_not_available_and_the_old_leader_is_a_zombie() -> None:
    c = stuck()
    group = next(f"g{n}" for n in range(999) if partition_of_group(f"g{n}", 50) == 26)
    assert c.probe_group(group).find_error == 15
    assert STUCK in c.brokers[3].leading


def test_a_restart_of_the_dead_broker_does_not_heal_and_its_next_death_does() -> None:
    c = stuck()
    c.revive(1)
    assert leader(c, STUCK)[0] == -1
    c.kill(1)
    assert leader(c, STUCK)[0] == 2


def test_the_death_of_any_other_broker_heals() -> None:
    c = stuck()
    c.kill(3)
    assert leader(c, STUCK)[0] == 2


def test_preferred_answers_80_where_the_preferred_replica_is_not_in_the_live_isr() -> None:
    assert stuck().elect(STUCK, unclean=False).code == 80


def test_preferred_works_where_it_is() -> None:
    c = ALL["coordinator-stuck-preferred-alive"]().cluster
    assert c.elect(STUCK, unclean=False).accepted
    assert leader(c, STUCK)[0] == 2


def test_unclean_with_a_live_isr_member_elects_that_one_and_then_answers_84() -> None:
    c = stuck()
    assert c.elect(STUCK, unclean=True).accepted
    assert leader(c, STUCK) == (2, 3, (2,))
    assert c.elect(STUCK, unclean=True).code == 84


def test_unclean_without_a_live_isr_member_takes_the_first_live_replica_and_not_the_longest_log() -> None:
    c = ALL["coordinator-stuck-isr-dead"]().cluster
    c.append(STUCK, 50, (2,))
    assert c.elect(STUCK, unclean=True).accepted
    assert leader(c, STUCK)[0] == 3
    assert c.log_ends(STUCK, (2,))[2].end == 100


def test_a_reorder_of_an_offline_partition_chooses_the_survivor() -> None:
    c = ALL["coordinator-stuck-isr-dead"]().cluster
    assert c.reassign(STUCK, (2, 3, 1)).accepted
    assert leader(c, STUCK)[0] == -1
    c.elect(STUCK, unclean=True)
    assert leader(c, STUCK)[0] == 2


def test_unclean_without_a_live_replica_answers_83() -> None:
    c = MemoryCluster.healthy(brokers=4, topics={"x": 1}, replication=1)
    c.control.fail_over_to(4)
    c.kill(1)
    assert c.elect(TopicPartition("x", 0), unclean=True).code == 83


def test_a_no_op_reassignment_heals_the_stuck_state_and_cannot_elect_outside_the_isr() -> None:
    c = stuck()
    assert c.reassign(STUCK, (3, 1, 2)).accepted
    assert leader(c, STUCK) == (2, 3, (2,))
    dead = ALL["coordinator-stuck-isr-dead"]().cluster
    dead.reassign(STUCK, (3, 1, 2))
    assert leader(dead, STUCK)[0] == -1


def test_a_no_op_reassignment_brings_the_brokers_to_zookeepers_truth() -> None:
    c = ALL["metadata-divergence"]().cluster
    c.reassign(STUCK, (3, 1, 2))
    assert leader(c, STUCK) == (1, 2, (1, 2))
    assert c.partition(STUCK).diverged is False
    assert STUCK not in c.brokers[3].leading
    c.advance(1)
    assert set(leader(c, STUCK)[2]) == {1, 2, 3}


def test_elections_do_nothing_about_a_latent_divergence() -> None:
    c = ALL["metadata-divergence"]().cluster
    assert [c.elect(STUCK, unclean=u).code for u in (False, True)] == [84, 84]


def test_a_reassignment_that_drops_the_dead_replica_hangs_and_its_cancellation_heals() -> None:
    c = stuck()
    assert c.reassign(STUCK, (3, 2)).accepted
    assert leader(c, STUCK) == (-1, 3, (2,))
    assert STUCK in c.reassignments()
    assert c.reassign(STUCK, None).accepted
    assert leader(c, STUCK)[0] == 2
    assert STUCK not in c.reassignments()


def test_a_move_completes_once_its_targets_are_in_sync() -> None:
    c = MemoryCluster.healthy(brokers=4, topics={"orders": 1})
    assert c.reassign(TP, (4, 2, 3)).accepted
    c.advance(1)
    assert c.records.assignments[TP].replicas == (4, 2, 3)
    assert not c.reassignments()


def test_nothing_to_cancel_answers_85_and_nonsense_39() -> None:
    c = cluster()
    assert c.reassign(TP, None).code == 85
    assert [c.reassign(TP, r).code for r in ((), (1, 1), (1, 9))] == [39, 39, 39]
    assert c.reassign(TopicPartition("none", 0), (1,)).code == 3
    assert c.elect(TopicPartition("none", 0), unclean=False).code == 3


def test_the_controller_is_re_elected_only_under_the_expected_version() -> None:
    c = stuck()
    assert not c.reelect_controller(epoch_version=1).accepted
    assert c.reelect_controller(epoch_version=2).accepted
    assert c.controller().epoch == 3
    assert leader(c, STUCK)[0] == 2


def test_a_controller_re_election_uses_an_unclean_topic_uncleanly() -> None:
    c = ALL["coordinator-stuck-isr-dead"]().cluster
    c.records.topic_configs[OFFSETS_TOPIC] = {"unclean.leader.election.enable": "true"}
    c.reelect_controller(epoch_version=2)
    assert leader(c, STUCK)[0] == 3


def test_the_last_member_never_leaves_the_isr() -> None:
    c = MemoryCluster.healthy(topics={"orders": 3}, replication=1)
    c.kill(2)
    assert leader(c, TopicPartition("orders", 1)) == (-1, 1, (2,))
    c.revive(2)
    assert leader(c, TopicPartition("orders", 1))[0] == 2


def test_a_restarted_follower_rejoins_the_isr_with_time() -> None:
    c = cluster()
    c.kill(3)
    c.revive(3)
    assert 3 not in leader(c)[2]
    c.advance(1)
    assert 3 in leader(c)[2]


def test_a_silent_broker_is_registered_and_answers_nothing() -> None:
    c = cluster()
    c.silence(2)
    reading = c.partition(TP)
    assert 2 in (reading.registered or ())
    assert 2 not in reading.views
    assert reading.errors == ("broker 2: no answer in time",)
    assert c.log_ends(TP, (2,))[2].error == "no answer"


def test_a_silent_zookeeper_leaves_the_views() -> None:
    c = cluster()
    c.faults.unreadable["zookeeper"] = "gone"
    assert c.partition(TP).state is None
    assert set(c.partition(TP).views) == {1, 2, 3}
    for ask in (c.controller, c.registered_brokers, c.migrating):
        with pytest.raises(UnreachableError, match="gone"):
            ask()


def test_without_any_broker_there_is_no_controller_and_no_answer() -> None:
    c = cluster()
    for broker in (1, 2, 3):
        c.kill(broker)
    assert c.controller().broker is None
    assert c.elect(TP, unclean=True).unknown
    c.revive(3)
    assert c.controller().broker == 3


def test_a_lost_answer_may_or_may_not_have_been_carried_out() -> None:
    for applied in (True, False):
        c = stuck()
        c.faults.lose_answer("reassign", applied=applied)
        assert c.reassign(STUCK, (3, 1, 2)).unknown
        assert (leader(c, STUCK)[0] == 2) is applied


def test_something_can_happen_between_two_reads() -> None:
    c = cluster()
    c.faults.before("partition", lambda: c.kill(3), after_calls=1)
    assert 3 in (c.partition(TP).registered or ())
    assert 3 not in (c.partition(TP).registered or ())


def test_the_snapshot_shows_the_same_as_the_readings() -> None:
    c = stuck()
    c.groups["payments"] = 7
    snapshot = c.snapshot()
    assert snapshot.zookeeper is not None
    assert snapshot.zookeeper.states[STUCK] == c.partition(STUCK).state
    assert snapshot.views[2].partitions[STUCK] == c.partition(STUCK).views[2]
    assert snapshot.silent == {}  # broker 1 is dead, which is no silence
    assert snapshot.memory.groups == ("payments",)


def test_a_group_of_a_leaderless_partition_is_still_listed_by_brokers_that_did_not_lose_it() -> None:
    c = cluster()
    c.groups["g"] = 1
    tp = TopicPartition(OFFSETS_TOPIC, partition_of_group("g", 5))
    (group,) = c.snapshot().groups
    assert group.listed_by == (c.records.states[tp].leader,)


def test_incidents_are_what_their_names_say() -> None:
    for name, build in ALL.items():
        incident = build()
        if incident.finding.code in {"KFX101", "KFX102", "KFX201"}:
            tp = ORDERS if name == "partition-stuck" else STUCK
            assert tp in incident.finding.partitions, name
        assert set(incident.finding.partitions) <= incident.cluster.records.assignments.keys()
