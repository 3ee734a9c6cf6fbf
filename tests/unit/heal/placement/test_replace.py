"""Brokers that go."""

import pytest

from kfix.heal.placement.replace import replace_as, replace_brokers
from kfix.heal.placement.world import PlacementError
from tests.unit.heal.placement.clusters import lists, tp, world


def test_position_kept_and_the_rack_that_the_others_do_not_have() -> None:
    w = world("aabbc", {"t-0": (1, 3, 5), "t-1": (3, 1), "t-2": (1, 5)}, dead=[3])
    assert lists(replace_brokers(w, frozenset({3}), w.assignments)) == {"t-0": (1, 4, 5), "t-1": (4, 1)}


def test_only_these_partitions() -> None:
    w = world("ab", {"t-0": (1,), "t-1": (1,)})
    assert lists(replace_brokers(w, frozenset({1}), [tp("t-1")])) == {"t-1": (2,)}


def test_a_live_broker_is_emptied_evenly() -> None:
    w = world("---", {f"t-{p}": (1,) for p in range(4)})
    expected = {"t-0": (2,), "t-1": (3,), "t-2": (2,), "t-3": (3,)}
    assert lists(replace_brokers(w, frozenset({1}), w.assignments)) == expected


def test_of_two_live_brokers_that_are_emptied_neither_takes_replicas() -> None:
    w = world("----", {f"t-{p}": (1, 3) for p in range(6)} | {"u-0": (2,)})
    moves = replace_brokers(w, frozenset({1, 2}), w.assignments)
    assert {replicas for name, replicas in lists(moves).items() if name != "u-0"} == {(4, 3)}
    assert lists(moves)["u-0"] in {(3,), (4,)}


def test_another_dead_broker_is_left_alone() -> None:
    w = world("abcd", {"t-0": (1, 2, 3)}, dead=[2, 3])
    assert lists(replace_brokers(w, frozenset({2}), w.assignments)) == {"t-0": (1, 4, 3)}


def test_too_few_brokers_left() -> None:
    w = world("abc", {"t-0": (1, 2, 3), "t-1": (1, 3)}, dead=[3])
    with pytest.raises(PlacementError) as refused:
        replace_brokers(w, frozenset({3}), w.assignments)
    assert str(refused.value) == (
        "t-0: no broker is left for the replicas of broker 3: they can go to brokers 1, 2 and 2 brokers are alive "
        "(1, 2); start another broker, or lower the replication factor first"
    )


def test_re_created_under_another_id() -> None:
    w = world("abcd", {"t-0": (1, 2, 3), "t-1": (2,), "t-2": (3, 1)}, dead=[2])
    assert lists(replace_as(w, {2: 4})) == {"t-0": (1, 4, 3), "t-1": (4,)}


def test_an_heir_that_holds_the_partition_already_or_is_not_alive() -> None:
    w = world("abc", {"t-0": (1, 2), "t-1": (2, 3), "t-2": (2, 1)}, dead=[2])
    with pytest.raises(PlacementError) as refused:
        replace_as(w, {2: 1, 3: 8})
    assert str(refused.value) == (
        "broker 8 is to take over from 3 but is not alive (2 brokers are alive (1, 3)); start it first; "
        "broker 1 would hold t-0 and 1 more twice; replace the brokers without naming heirs"
    )
    with pytest.raises(PlacementError, match="broker 3 would hold t-0 twice"):
        replace_as(world("abc", {"t-0": (1, 2)}), {1: 3, 2: 3})
