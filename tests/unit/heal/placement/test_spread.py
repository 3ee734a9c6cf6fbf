"""Apart from each other, and even."""

from collections import Counter

from kfix.heal.placement.spread import preferred, spread
from tests.unit.heal.placement.clusters import lists, tp, world


def test_as_many_racks_as_possible_with_the_fewest_moves() -> None:
    w = world("aaabbc", {"t-0": (1, 2, 3), "t-1": (1, 2, 4), "t-2": (1, 4, 6)})
    assert lists(spread(w, w.assignments)) == {"t-0": (1, 5, 6), "t-1": (1, 6, 4)}


def test_the_leader_stays_where_it_is() -> None:
    w = world("aab", {"t-0": (1, 2)}, leaders={"t-0": 2})
    assert lists(spread(w, w.assignments)) == {"t-0": (3, 2)}


def test_a_packed_broker_unloads_small_followers_first() -> None:
    w = world(
        "----",
        {"t-0": (1, 2), "t-1": (2, 1), "t-2": (2, 1), "t-3": (3, 1), "t-4": (3, 1), "t-5": (1, 3)},
        sizes={"t-1": 70, "t-2": 10, "t-3": 20, "t-4": 90},
    )
    assert lists(spread(w, w.assignments)) == {"t-1": (2, 4), "t-2": (2, 4), "t-3": (3, 4)}


def test_nothing_moves_without_gain() -> None:
    even = world("ab-", {"t-0": (1, 2), "t-1": (2, 3), "t-2": (3, 1)})
    assert spread(even, even.assignments) == ()
    # Broker 4 is the only one of its rack: it has to hold them all, although it has three times as many as the others.
    lists_of_two = {f"t-{p}": (p % 3 + 1, 4) for p in range(12)}
    packed, loose = world("aaab", lists_of_two), world("aaaa", lists_of_two)
    assert spread(packed, packed.assignments) == ()
    assert spread(loose, loose.assignments) != ()


def test_dead_replicas_and_other_topics_are_not_touched() -> None:
    w = world("aabc", {"t-0": (1, 2, 4), "u-0": (1, 2)}, dead=[4])
    assert lists(spread(w, [tp("t-0")])) == {"t-0": (1, 3, 4)}


def test_preferred_leaders_even_by_order_alone() -> None:
    w = world("---", {f"t-{p}": (1, 2, 3) for p in range(7)})
    moves = preferred(w, w.assignments)
    after = {str(t): r for t, r in w.assignments.items()} | lists(moves)
    assert sorted(Counter(r[0] for r in after.values()).values()) == [2, 2, 3]
    assert all(sorted(m.replicas) == sorted(m.before) for m in moves)
    assert len(moves) == 4


def test_a_chain_of_partitions_passes_leadership_on() -> None:
    """Broker 1 can only hand over to 2, and 2 only to 3: both have to move for one leadership less on 1."""
    w = world("---", {"t-0": (1, 2), "t-1": (1,), "t-2": (2, 3)})
    assert lists(preferred(w, w.assignments)) == {"t-0": (2, 1), "t-2": (3, 2)}


def test_only_live_in_sync_replicas_are_put_first() -> None:
    w = world("---", {f"t-{p}": (1, 2, 3) for p in range(6)}, dead=[3], isr={f"t-{p}": (1,) for p in range(6)})
    assert preferred(w, w.assignments) == ()


def test_a_dead_preferred_leader_gives_way() -> None:
    w = world("---", {"t-0": (3, 1, 2), "t-1": (1, 2, 3)}, dead=[3])
    assert lists(preferred(w, w.assignments)) == {"t-0": (2, 3, 1)}
