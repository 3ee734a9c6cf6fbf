"""What a snapshot does not show is unknown, never fine; what is wrong input names what exists."""

from dataclasses import replace

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.forecast import Failure, Fate
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.failures.judging import Judge, forecast
from kfix.core.failures.scenarios import every_failure, failure_of, quorum_lost
from kfix.core.snapshot.snapshot import Mode, Source, TopicPartition, ZooKeeperNode
from kfix.heal.memory.cluster import MemoryCluster
from kfix.whatif.table import exit_code, forecast_text

ORDERS = TopicPartition("orders", 0)


def cluster(**options):
    return MemoryCluster.healthy(topics={OFFSETS_TOPIC: 5, "orders": 3}, groups={"pay": 3}, **options)


def judged(snapshot, down):
    case = open_case(snapshot)
    return forecast(case, (failure_of(down, case),), named=True)


def test_a_whole_cluster_loses_nothing_by_one_broker():
    found = judged(cluster().snapshot(), "broker=1")
    assert exit_code(found) == 0
    assert "nothing would stop" in forecast_text(found, chosen=True)
    assert found.failures[0].controller_moves is True


def test_zookeeper_that_was_not_read_is_unknown():
    snapshot = replace(cluster().snapshot(), zookeeper=None)
    found = judged(snapshot, "broker=2")
    assert exit_code(found) == 22
    assert any("ZooKeeper was not read" in text for text in found.unknown)


def test_in_a_migration_both_records_have_to_be_the_same():
    taken = cluster().snapshot()
    moving = replace(taken, zookeeper=replace(taken.zookeeper, migrating=True))
    assert judged(moving, "broker=2").unknown == ()
    state = taken.zookeeper.states[ORDERS]
    behind = {**taken.zookeeper.states, ORDERS: state._replace(leader_epoch=state.leader_epoch + 1)}
    found = judged(replace(taken, zookeeper=replace(moving.zookeeper, states=behind)), "broker=2")
    assert any("ZooKeeper and the brokers differ about orders-0: who may lead" in text for text in found.unknown)


def test_a_setting_that_was_not_read_is_unknown():
    snapshot = cluster().snapshot()
    configs = {b: c for b, c in snapshot.broker_configs.items() if b != 2}
    found = judged(replace(snapshot, broker_configs=configs), "broker=1")
    assert {p.leader for p in found.failures[0].partitions if p.falls_under is None} == {2}
    assert found.failures[0].unjudged == sum(p.leader == 2 for p in found.failures[0].partitions)
    assert exit_code(found) == 22


def test_a_topic_config_that_was_invalid_is_unknown():
    snapshot = cluster().snapshot()
    bad = Source("znode /config/topics/orders", ok=False, error="no JSON")
    found = judged(replace(snapshot, sources=(*snapshot.sources, bad)), "broker=1")
    assert found.failures[0].unjudged == 3
    assert "znode /config/topics/orders: no JSON" in " ".join(found.unknown)


def test_a_partition_of_an_unread_kraft_quorum_without_a_live_in_sync_replica_is_unknown():
    made = cluster()
    made.append(ORDERS, 5, (1,))
    snapshot = made.snapshot()
    views = {
        b: replace(v, partitions={tp: p._replace(isr=(p.leader,)) for tp, p in v.partitions.items()})
        for b, v in snapshot.views.items()
    }
    kraft = replace(snapshot, zookeeper=None, views=views, cluster=replace(snapshot.cluster, mode=Mode.KRAFT))
    found = judged(kraft, "broker=1")
    assert {p.fate for p in found.failures[0].partitions} == {Fate.UNKNOWN}
    assert found.failures[0].controller_moves is None
    assert sum("KRaft" in text for text in found.unknown) == 1
    assert exit_code(found) == 22


def test_groups_that_not_all_brokers_listed_are_possibly_more():
    made = cluster(replication=1)
    down = made.probe_group("pay").coordinator
    text = forecast_text(judged(replace(made.snapshot(), groups_complete=False), f"broker={down}"), chosen=True)
    assert "groups whose coordinator stops: pay, and possibly others" in text


def test_what_has_no_leader_today_is_named_apart():
    made = cluster(replication=1)
    made.kill(3)
    found = judged(made.snapshot(), "broker=2")
    one = found.failures[0]
    assert one.stops == sum(p.fate is Fate.STOPS for p in one.partitions)
    assert one.stopped == sum(p.fate is Fate.STOPPED for p in one.partitions) > 0
    assert "already without a leader today, so not caused by this" in forecast_text(found, chosen=True)


def test_a_partition_that_the_controller_would_strand_stops_and_none_is_stranded_by_a_new_controller():
    """The record names another leader than the controller remembers; broker 1 is the controller."""
    made = cluster()
    made.corrupt_state(ORDERS, leader=2, isr=(2, 3))
    snapshot = made.snapshot()
    fates = {}
    for down in ("broker=2", "broker=1,2"):
        one = judged(snapshot, down).failures[0]
        fates[down] = next(p.fate for p in one.partitions if p.tp == ORDERS)
        assert one.stops == sum(p.fate in {Fate.STOPS, Fate.STRANDED} for p in one.partitions)
    assert fates == {"broker=2": Fate.STRANDED, "broker=1,2": Fate.MOVES}


def test_topics_under_deletion_are_left_out():
    snapshot = cluster().snapshot()
    deleting = replace(snapshot.zookeeper, deleting=frozenset({"orders"}))
    found = Judge(open_case(replace(snapshot, zookeeper=deleting))).every_partition(Failure(frozenset({1})))
    assert {tp.topic for tp in found} == {OFFSETS_TOPIC}


@pytest.mark.parametrize(
    ("down", "words"),
    [
        ("broker=9", "broker 9 does not exist; alive: brokers 1, 2"),
        ("broker=3", "broker 3 is already down; alive: brokers 1, 2"),
        ("rack=b", "no rack 'b'; the racks of live brokers are az1, az2"),
        ("broker=", "broker=ID"),
        ("disk=1", "broker=ID"),
        ("broker=1,x", "broker x does not exist"),
    ],
)
def test_wrong_input_names_what_exists(down, words):
    made = cluster()
    made.kill(3)
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        failure_of(down, open_case(made.snapshot()))


def test_without_a_list_of_live_brokers_nothing_is_judged():
    snapshot = replace(cluster().snapshot(), zookeeper=None, views={})
    with pytest.raises(UnreachableError, match="alive"):
        every_failure(open_case(snapshot))


def test_every_set_of_brokers_is_judged_once():
    found = every_failure(open_case(cluster(racks={1: "a", 2: "a", 3: "b"}).snapshot()))
    assert [(sorted(f.brokers), f.racks) for f in found] == [
        ([1], ()),
        ([2], ()),
        ([3], ("b",)),
        ([1, 2], ("a",)),
        ([1, 3], ()),
        ([2, 3], ()),
    ]
    many = every_failure(open_case(cluster(brokers=31).snapshot()))
    assert len(many) == 31


@pytest.mark.parametrize(
    ("hosts", "down", "lost"),
    [
        (("broker1.example", "broker2.example", "broker3.example"), {1}, False),
        (("broker1.example", "broker2.example", "broker3.example"), {1, 2}, True),
        (("zk1", "zk2", "zk3"), {1, 2}, None),
        (("broker1.example", "zk2", "zk3"), {1}, None),
        (("broker1.example",), {1}, True),
    ],
)
def test_zookeepers_quorum_is_known_only_by_hosts(hosts, down, lost):
    nodes = tuple(ZooKeeperNode(f"{host}:2181", "follower") for host in hosts)
    case = open_case(replace(cluster().snapshot(), ensemble=nodes))
    assert quorum_lost(case, Failure(frozenset(down))) is lost


def test_a_rack_that_takes_zookeepers_quorum_with_it_is_critical_and_named_first():
    nodes = tuple(ZooKeeperNode(f"broker{n}.example:2181", "follower") for n in (1, 2, 3))
    snapshot = replace(cluster(brokers=4, racks={1: "a", 2: "a", 3: "b", 4: "c"}).snapshot(), ensemble=nodes)
    found = judged(snapshot, "rack=a")
    assert exit_code(found) == 21
    assert "ZooKeeper would lose its quorum with their hosts" in forecast_text(found, chosen=True, width=300)
    assert exit_code(judged(snapshot, "broker=1,2")) == 20, "two processes may die without their hosts"
