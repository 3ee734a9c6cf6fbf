"""A higher replication factor."""

from collections import Counter

import pytest

from kfix.heal.placement.raise_rf import raise_rf
from kfix.heal.placement.world import PlacementError
from tests.unit.heal.placement.clusters import lists, tp, world


def test_new_replicas_go_to_racks_that_hold_none() -> None:
    w = world("aabbcc", {"t-0": (1,)})
    assert lists(raise_rf(w, [tp("t-0")], 3)) == {"t-0": (1, 3, 5)}


def test_among_equal_racks_the_broker_with_fewest_replicas_of_all_topics_then_bytes_then_id() -> None:
    w = world("----", {"t-0": (1,), "u-0": (2,), "u-1": (3,), "u-2": (4,)}, sizes={"u-0": 10, "u-1": 5, "u-2": 5})
    assert lists(raise_rf(w, [tp("t-0")], 2)) == {"t-0": (1, 3)}
    busy = world("---", {"t-0": (1,), "u-0": (2,), "u-1": (2,), "u-2": (3,)}, sizes={"u-2": 99})
    assert lists(raise_rf(busy, [tp("t-0")], 2)) == {"t-0": (1, 3)}


def test_what_the_plan_adds_counts() -> None:
    w = world("---", {"t-0": (1,), "t-1": (1,), "t-2": (1,), "t-3": (1,)})
    assert lists(raise_rf(w, w.assignments, 2)) == {"t-0": (1, 2), "t-1": (1, 3), "t-2": (1, 2), "t-3": (1, 3)}


def test_more_replicas_than_racks_are_even_over_the_racks() -> None:
    w = world("aaaabb", {"t-0": (1,)})
    assert lists(raise_rf(w, w.assignments, 4)) == {"t-0": (1, 5, 2, 6)}


def test_a_broker_without_a_rack_comes_before_a_rack_that_is_held_and_after_a_free_one() -> None:
    w = world("aa-b", {"t-0": (1,)})
    assert lists(raise_rf(w, w.assignments, 3)) == {"t-0": (1, 4, 3)}


def test_the_current_leader_is_put_first() -> None:
    w = world("---", {"t-0": (1, 2)}, leaders={"t-0": 2})
    assert lists(raise_rf(w, w.assignments, 3)) == {"t-0": (2, 1, 3)}


def test_a_partition_that_has_the_factor_is_left_alone_whoever_leads_it() -> None:
    w = world("---", {"t-0": (1, 2), "t-1": (2, 9)}, leaders={"t-0": 2})
    assert raise_rf(w, w.assignments, 2) == ()


def test_a_replica_on_a_dead_broker_keeps_its_place() -> None:
    w = world("abc", {"t-0": (2, 1)}, dead=[2], leaders={"t-0": -1})
    assert lists(raise_rf(w, w.assignments, 2)) == {}
    w = world("abcd", {"t-0": (2, 1)}, dead=[2], leaders={"t-0": -1})
    assert lists(raise_rf(w, w.assignments, 3)) == {"t-0": (2, 1, 3)}


def test_too_few_live_brokers() -> None:
    w = world("abc", {"t-0": (1,), "t-1": (2,)}, dead=[3])
    with pytest.raises(PlacementError) as refused:
        raise_rf(w, w.assignments, 3)
    assert str(refused.value) == (
        "t-0 and 1 more: replication factor 3 needs 3 live brokers and 2 brokers are alive (1, 2); "
        "start the missing ones, or ask for a lower factor"
    )
    assert raise_rf(world("abc", {"t-0": (1, 2, 3)}, dead=[3]), [tp("t-0")], 3) == ()


def test_no_factor_below_one_and_no_unknown_partition() -> None:
    w = world("a", {"t-0": (1,)})
    with pytest.raises(PlacementError, match="replication factor 0: it is at least 1"):
        raise_rf(w, w.assignments, 0)
    with pytest.raises(PlacementError, match="t-7 and 1 more: no such partition"):
        raise_rf(w, [tp("t-8"), tp("t-7"), tp("t-0")], 1)
    assert raise_rf(w, [], 3) == ()


def test_internal_topics_get_preferred_leaders_in_turn() -> None:
    """The seed incident: 50 partitions with one replica, all on broker 1."""
    w = world("abc", {f"__consumer_offsets-{p}": (1,) for p in range(50)})
    moves = raise_rf(w, w.assignments, 3, rotate=True)
    assert sorted(Counter(m.replicas[0] for m in moves).values()) == [16, 17, 17]
    assert all(sorted(m.replicas) == [1, 2, 3] for m in moves)
    # Nobody takes over from two others.
    assert {m.replicas[:2] for m in moves} == {(1, 2), (2, 3), (3, 1)}


def test_partitions_that_stay_as_they_are_count_for_the_turns() -> None:
    w = world("abc", {"o-0": (1, 2, 3), "o-1": (1, 2, 3), "o-2": (1,), "o-3": (1,)})
    assert Counter(m.replicas[0] for m in raise_rf(w, w.assignments, 3, rotate=True)) == {2: 1, 3: 1}
