"""The incidents that remedies are practised on: made, looked at from outside, mended to the cluster that was before."""

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.kafka import group_messages, requests
from kfix.core.kafka.group_messages import find_transaction_coordinator
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import Lab, LabSpec
from kfix.lab.clients.moves import start_move
from kfix.lab.healing.health import trouble
from tests.cluster.seen import alive, before_and_after, in_sync
from tests.waiting import wait_until

NOT_LEADER, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 6, 15, 16
MOVED = TopicPartition("ledger", 0)
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.fixture
def cluster(lab):
    """The shared cluster; at the end `mend` must have led back to it."""
    yield from before_and_after(lab)


@pytest.fixture(scope="module")
def four_brokers(shared_lab):
    lab = Lab.up(LabSpec(name="four", ids=(1, 2, 3, 4), racks=("a", "a", "b", "b")))
    yield lab
    lab.down()


@pytest.fixture
def racks(four_brokers):
    yield from before_and_after(four_brokers)


# --- coordinators -----------------------------------------------------------------------------------------------------


def test_a_silent_coordinator_is_named_by_all_and_refuses_until_leadership_moves(cluster):
    broken = cluster.lab.break_("coordinator-silent")
    [where], named = broken.partitions, broken.details["named"]
    where = TopicPartition(*where)
    assert where.topic == OFFSETS_TOPIC
    assert cluster.views(where) == {(named, cluster.access.state(*where).leader_epoch)}
    assert cluster.coordinators(broken.group) == {(0, named)}
    assert cluster.fetched(broken.group, named)[0] == NOT_COORDINATOR
    assert cluster.end(named, where, replica=-1).error == NOT_LEADER
    assert cluster.fetched(broken.group, broken.details["led_before"])[0] == 0
    assert alive(cluster)
    assert in_sync(cluster, where)
    assert any("it is not the leader" in each for each in trouble(cluster.access, cluster.lab.broker_ids))
    cluster.access.elect([where], unclean=False)
    wait_until(lambda: cluster.works(broken.group), "the group works again")


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


def test_offsets_with_one_replica_and_nobody_dead_work_and_can_be_raised(cluster):
    broken = cluster.lab.break_("offsets-rf1", kill="no")
    assert broken.dead == ()
    assert alive(cluster)
    assignment = cluster.access.assignment(OFFSETS_TOPIC)
    assert {len(replicas) for replicas in assignment.values()} == {1}
    assert [number for _, number in broken.partitions] == list(assignment)
    assert cluster.works(broken.group)
    ids = cluster.lab.broker_ids
    raised = {number: (kept, *(each for each in ids if each != kept)) for number, (kept,) in assignment.items()}
    cluster.access.reassign({TopicPartition(OFFSETS_TOPIC, number): replicas for number, replicas in raised.items()})
    assert cluster.works(broken.group)


@pytest.mark.parametrize("kill", ["no", "default"])
def test_transactions_with_one_replica_stop_with_their_broker_alone(cluster, kill):
    broken = cluster.lab.break_("transactions-rf1", **({"kill": "no"} if kill == "no" else {}))
    assignment = cluster.access.assignment(TRANSACTIONS_TOPIC)
    assert {len(replicas) for replicas in assignment.values()} == {1}
    for number, (holder,) in assignment.items():
        request = find_transaction_coordinator(broken.details[f"transactional_id_{number}"])
        for broker in cluster.access.live_ids():
            found = cluster.ask(broker, request)
            expected = (COORDINATOR_NOT_AVAILABLE, -1) if holder in broken.dead else (0, holder)
            assert (found.error, found.broker) == expected
    assert len(broken.dead) == (0 if kill == "no" else 1)
    assert cluster.works(broken.group)
    cluster.lab.restart(*broken.dead)
    for number in assignment:
        cluster.access.transact(broken.details[f"transactional_id_{number}"], "orders")


def test_a_group_waits_for_the_transaction_of_a_dead_producer_and_mend_ends_it(cluster):
    broken = cluster.lab.break_("pending-offsets")
    [(_, number)] = broken.partitions
    leader = cluster.access.state(OFFSETS_TOPIC, number).leader
    asked = group_messages.stable_offset_fetch(broken.group, (TopicPartition("orders", 0), TopicPartition("orders", 1)))
    _, offsets = cluster.ask(leader, asked)
    assert [each.error for _, each in sorted(offsets.items())] == [88, 0]
    assert cluster.works(broken.group)
    cluster.lab.mend()
    where = TopicPartition(OFFSETS_TOPIC, number)
    ends = [
        cluster.ask(leader, requests.list_offsets((where,), -1, replica=-1, isolation=level))[where].offset
        for level in (0, 1)
    ]
    assert ends[0] == ends[1]


def test_a_leader_that_could_not_load_a_partition_serves_none_of_its_offsets(cluster):
    broken = cluster.lab.break_("offsets-not-loaded")
    assert cluster.fetched(broken.group, broken.details["leader"]) == (0, 0)
    assert alive(cluster)
    assert all(in_sync(cluster, TopicPartition(*where)) for where in broken.partitions)


# --- moves ------------------------------------------------------------------------------------------------------------


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


def test_the_reassignment_of_another_operator_goes_on_and_all_brokers_live(cluster):
    broken = cluster.lab.break_("foreign-reassignment")
    going, coming = broken.details["from"], broken.details["to"]
    move = cluster.moves()[MOVED]
    assert (move.adding, move.removing) == ((coming,), (going,))
    assert alive(cluster)
    assert coming not in cluster.access.state(*MOVED).isr
    assert cluster.broker_settings(coming, RATES)[RATES[1]] == str(broken.details["rate"])
    assert cluster.broker_settings(going, RATES)[RATES[0]] == str(broken.details["rate"])
    # Far from its end: what was fetched at once is a segment of two megabytes.
    lacks = cluster.end(cluster.access.state(*MOVED).leader, MOVED).offset - cluster.end(coming, MOVED).offset
    assert lacks >= 40


def test_left_over_throttles_are_in_force_while_nothing_moves(cluster):
    broken = cluster.lab.break_("left-over-throttles", rate=2500)
    assert cluster.moves() == {}
    for broker in cluster.lab.broker_ids:
        assert cluster.broker_settings(broker, RATES) == dict.fromkeys(RATES, "2500")
    config = cluster.access.configs("topics")["ledger"]
    assert {key for key in config if "throttled.replicas" in key} == {
        each.replace("rate", "replicas") for each in RATES
    }
    assert all(in_sync(cluster, TopicPartition(*each)) for each in broken.partitions)


def test_a_replica_crawls_under_left_over_throttles_and_catches_up_without(cluster):
    broken = cluster.lab.break_("left-over-throttles", lagging=True)
    where = [TopicPartition(*each) for each in broken.partitions]
    assert all(broken.details["lagging"] not in cluster.access.state(*each).isr for each in where)
    for broker in cluster.lab.broker_ids:
        cluster.access.write_config("brokers", str(broker), {})
    wait_until(lambda: all(in_sync(cluster, each) for each in where), "all replicas in sync")


# --- placement, leadership, settings ----------------------------------------------------------------------------------


def test_replicas_in_one_rack_are_in_one_rack(racks):
    broken = racks.lab.break_("replicas-in-one-rack", megabytes=1)
    rack_of = racks.access.metadata(1).racks
    assert sorted(rack_of.values()) == ["a", "a", "b", "b"]
    for topic, number in broken.partitions:
        replicas = racks.access.assignment(topic)[number]
        assert {rack_of[broker] for broker in replicas} == {broken.details["rack"]}
        assert in_sync(racks, TopicPartition(topic, number))
    disk = racks.lab.nodes.disk_of(racks.lab.state, racks.access.state(*broken.partitions[0]).leader)
    assert sum(log.stat().st_size for log in disk.glob("ledger-*/*.log")) >= 1_000_000
    moved = {TopicPartition(*each): (1 + number, 4 - number) for number, each in enumerate(broken.partitions[:2])}
    racks.access.reassign(moved)


def test_a_lab_without_the_racks_is_refused_before_anything_is_changed(cluster):
    with pytest.raises(UsageError, match="needs 4 brokers"):
        cluster.lab.break_("replicas-in-one-rack")
    assert cluster.lab.status().incident is None


def test_leader_skew_has_one_leader_of_all_and_every_replica_in_sync(cluster):
    broken = cluster.lab.break_("leader-skew", broker=2)
    states = cluster.access.states()
    assert {state.leader for state in states.values()} == {2} == {broken.details["leader"]}
    assert all(in_sync(cluster, where) for where in states)
    first = {where for where in states if cluster.access.assignment(where.topic)[where.partition][0] != 2}
    assert first == {TopicPartition(*each) for each in broken.partitions}
    assert alive(cluster)
    cluster.access.elect(first, unclean=False)
    assert {state.leader for state in cluster.access.states().values()} == set(cluster.lab.broker_ids)


def test_a_weak_topic_has_its_settings_and_its_data(cluster):
    broken = cluster.lab.break_("weak-topic", megabytes=2)
    keys = ("min.insync.replicas", "unclean.leader.election.enable")
    request = requests.describe_configs(requests.TOPIC_RESOURCE, ("ledger",), keys)
    [found] = cluster.ask(cluster.access.controller(), request)
    assert found.values == dict(zip(keys, ("1", "true"), strict=True))
    assert {len(replicas) for replicas in cluster.access.assignment("ledger").values()} == {2}
    assert all(in_sync(cluster, TopicPartition(*each)) for each in broken.partitions)
    assert alive(cluster)


def test_the_loss_of_an_election_outside_the_isr_is_known_beforehand(cluster):
    broken = cluster.lab.break_("isr-gone", **{"shorter-first": "yes"})
    [dead], told = broken.dead, broken.details
    first, second = (each for each in cluster.access.assignment("ledger")[0] if each != dead)
    ends = {broker: cluster.end(broker, MOVED).offset for broker in (first, second)}
    assert ends == {broker: told[f"log_end_{broker}"] for broker in (first, second)}
    assert ends[first] < ends[second] < told[f"log_end_{dead}"]
    assert told["only_on_dead_leader"] == told[f"log_end_{dead}"] - ends[second]
    assert told["lost_if_it_wins"] == told[f"log_end_{dead}"] - ends[first]
    cluster.access.elect([MOVED], unclean=True)
    wait_until(lambda: cluster.access.state(*MOVED).leader == told["would_win"] == first, "the shorter log wins")
    cluster.lab.restart(dead)
    wait_until(lambda: in_sync(cluster, MOVED), "all replicas in sync")
    assert {cluster.end(broker, MOVED).offset for broker in cluster.lab.broker_ids} == {ends[first]}


# --- mending what others did ------------------------------------------------------------------------------------------


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
