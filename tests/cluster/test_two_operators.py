"""Two operators on two hosts at once: only what lies in the cluster tells them apart, and exactly one acts."""

import threading

import pytest

from kfix.core.errors import HeldError, UnreachableError
from kfix.core.zookeeper.connect import parse_connect
from kfix.core.zookeeper.lock import ZooKeeperLock
from tests.cluster.remedy import operating
from tests.waiting import seconds

TRIES = 100


@pytest.fixture
def two(lab, tmp_path):
    with operating(lab, tmp_path, "ann", "bob") as operators:
        yield operators


def at_once(two, plans):
    """Both commands begin together; what each said."""
    going = [one.begin(plan) for one, plan in zip(two, plans, strict=True)]
    return [each.over() for each in going]


def one_acted(two, said):
    """Who did not act was refused: the other one holds the cluster (9), or has changed what the plan rests on (3).

    Who begins when the other one has ended meets the goal of the plan, and claims no more than that.
    """
    acted = [any(run.of("step.intent") for run in one.runs()[-1:]) for one in two]
    assert sorted(acted) == [False, True], [each.out + each.err for each in said]
    for each, did in zip(said, acted, strict=True):
        if did:
            assert each.code == 0, each.out + each.err
            assert "PROVED" in each.out
            continue
        assert each.code in {0, 3, 9}, each.out + each.err
        assert "PROVED" not in each.out
        if each.code == 0:
            assert "ALREADY HEALTHY" in each.out or "NOTHING TO DO" in each.out
            assert "nothing was changed" in each.out
        if each.code == 9:
            assert "held by" in each.err
            assert "process" in each.err
            assert "nothing was changed" in each.err


@pytest.mark.parametrize("attempt", [0, 1, 2])
def test_of_two_who_elect_the_controller_at_once_one_does(two, cluster, attempt):
    plans = [one.plan("controller-reelect") for one in two]
    before = int(cluster.access._zk.get("/controller_epoch")[0])
    one_acted(two, at_once(two, plans))
    assert int(cluster.access._zk.get("/controller_epoch")[0]) == before + 1


def test_who_comes_when_the_other_has_elected_the_controller_changes_nothing(two, cluster):
    plans = [one.plan("controller-reelect") for one in two]
    before = int(cluster.access._zk.get("/controller_epoch")[0])
    said = [one.begin(plan).over() for one, plan in zip(two, plans, strict=True)]
    one_acted(two, said)
    assert [each.code for each in said] == [0, 0]
    assert int(cluster.access._zk.get("/controller_epoch")[0]) == before + 1


def test_of_two_who_heal_the_same_partition_at_once_one_does(two, cluster):
    broken = cluster.lab.break_("coordinator-stuck")
    epoch = cluster.access.state(*broken.partitions[0]).leader_epoch
    plans = [one.plan("coordinator-stuck") for one in two]
    one_acted(two, at_once(two, plans))
    state = cluster.access.state(*broken.partitions[0])
    assert (state.leader in state.isr, state.leader_epoch) == (True, epoch + 1)
    assert cluster.works(broken.group)


def test_the_lock_of_a_cluster_is_never_held_twice(cluster):
    locks = [ZooKeeperLock(parse_connect(cluster.lab.zookeeper_connect), "a cluster") for _ in range(2)]
    start, tried = threading.Barrier(2), threading.Barrier(2)
    won = [[False] * TRIES for _ in locks]

    def race(who):
        for number in range(TRIES):
            start.wait(seconds(30))
            try:
                locks[who].take({"user": f"operator {who}"})
                won[who][number] = locks[who].held()
            except (HeldError, UnreachableError):
                pass
            tried.wait(seconds(30))
            locks[who].release()

    racers = [threading.Thread(target=race, args=(who,)) for who in range(2)]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert [one + other for one, other in zip(*won, strict=True)] == [1] * TRIES
