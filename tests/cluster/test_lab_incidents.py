"""What no cell of the matrix shows of an incident; `mend` leads back to the cluster that was before."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.clients.leading import start_move
from tests.cluster.seen import before_and_after, in_sync
from tests.waiting import wait_until

MOVED = TopicPartition("ledger", 0)
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.fixture
def cluster(lab):
    """The shared cluster; at the end `mend` must have led back to it."""
    yield from before_and_after(lab)


def test_a_silent_coordinator_on_the_preferred_broker_is_mended_too(cluster):
    where = TopicPartition(OFFSETS_TOPIC, 1)
    first, second, third = cluster.access.assignment(OFFSETS_TOPIC)[1]
    cluster.access.reassign({where: (second, first, third)})
    cluster.access.elect([where], unclean=False)
    cluster.access.reassign({where: (first, second, third)})
    assert cluster.access.state(*where).leader == second
    # To an election all looks as it should: the preferred replica leads, in the words of all.
    broken = cluster.lab.break_("coordinator-silent", partition=1, leader=first)
    assert (broken.details["named"], broken.details["led_before"]) == (first, second)
    cluster.lab.mend()
    assert cluster.end(first, where, replica=-1).error == 0


@pytest.mark.parametrize("cancel", ["safe", "unsafe"])
def test_a_stuck_reassignment_waits_for_a_dead_broker_and_may_be_cancelled_only_where_it_is_safe(cluster, cancel):
    broken = cluster.lab.break_("stuck-reassignment", cancel=cancel)
    move, waits_for, leader = cluster.moves()[MOVED], broken.details["waits_for"], broken.details["leader"]
    assert waits_for in move.adding
    assert waits_for in broken.dead
    assert waits_for not in cluster.access.live_ids()
    assert cluster.access.state(*MOVED).leader == leader
    assert cluster.access.readable(*MOVED)
    original = set(move.replicas) - set(move.adding)
    assert original.issubset(broken.dead) == (cancel == "unsafe")
    start_move(cluster.access, MOVED, None)
    wait_until(lambda: not cluster.moves(), "the move is cancelled")
    # KAFKA-14424: nobody looks whether the replicas that are left live.
    assert cluster.access.state(*MOVED).leader == (leader if cancel == "safe" else -1)
    if cancel == "unsafe":
        # Its ISR is a broker that is no replica of it any more, and lives: so no election is held outside the ISR.
        cluster.lab.restart(*original)
        cluster.access.elect([MOVED], unclean=True)
        state = cluster.access.state(*MOVED)
        assert (state.leader, state.isr) == (-1, (leader,))


def test_a_replica_crawls_under_left_over_throttles_and_catches_up_without(cluster):
    broken = cluster.lab.break_("left-over-throttles", lagging=True)
    where = [TopicPartition(*each) for each in broken.partitions]
    assert all(broken.details["lagging"] not in cluster.access.state(*each).isr for each in where)
    for broker in cluster.lab.broker_ids:
        cluster.access.write_config("brokers", str(broker), {})
    wait_until(lambda: all(in_sync(cluster, each) for each in where), "all replicas in sync")


def test_a_lab_without_the_racks_is_refused_before_anything_is_changed(cluster):
    with pytest.raises(UsageError, match="needs 4 brokers"):
        cluster.lab.break_("replicas-in-one-rack")
    assert cluster.lab.status().incident is None


def test_mend_undoes_what_a_remedy_or_an_operator_did_to_the_whole_cluster(cluster):
    cluster.lab.break_("healthy")
    replicas = cluster.access.assignment(OFFSETS_TOPIC)
    at = [TopicPartition(OFFSETS_TOPIC, number) for number in replicas]
    controller = cluster.access.controller()
    follower, other = (each for each in cluster.lab.broker_ids if each != controller)
    cluster.access.reassign(
        {at[0]: replicas[0][::-1], at[1]: replicas[1][:2], at[2]: (controller,), at[3]: (other, controller)}
    )
    cluster.access.elect(at, unclean=False)
    cluster.access.write_config("topics", OFFSETS_TOPIC, {"min.insync.replicas": "2", "cleanup.policy": "compact"})
    cluster.access.write_config("brokers", "<default>", {"log.cleaner.threads": "1"})
    for broker in cluster.lab.broker_ids:
        cluster.access.write_config("brokers", str(broker), dict.fromkeys(RATES, "1"))
    # A move that has begun and does not end by itself, as its new replica is frozen.
    cluster.lab.stop(follower)
    start_move(cluster.access, at[2], (controller, follower))
    assert at[2] in cluster.moves()
