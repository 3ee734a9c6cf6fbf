"""The laws on random clusters: ten thousand small ones by chance, and larger ones that hypothesis can shrink."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.raise_rf import raise_rf
from kfix.heal.placement.spread import preferred
from kfix.heal.placement.world import World
from tests.unit.heal.placement.clusters import random_world
from tests.unit.heal.placement.laws import hold

SMALL_CLUSTERS = 10_000


@st.composite
def tasks(draw: st.DrawFn) -> tuple[World, int, frozenset[int]]:
    def dice(low: int, high: int) -> int:
        return draw(st.integers(low, high))

    world = random_world(dice, brokers=12, partitions=40)
    return world, dice(1, 5), _gone(world, dice)


def _gone(world, dice) -> frozenset[int]:
    known = {b for replicas in world.assignments.values() for b in replicas} | world.live.keys()
    return frozenset(b for b in sorted(known) if dice(0, 4) == 0)


def test_the_laws_hold_on_ten_thousand_small_clusters() -> None:
    for seed in range(SMALL_CLUSTERS):
        dice = random.Random(seed).randint
        world = random_world(dice, brokers=6, partitions=6)
        task = world, dice(1, 4), _gone(world, dice)
        try:
            hold(*task)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {task}") from error


@settings(deadline=None)
@given(tasks())
def test_the_laws_hold_on_any_cluster(task: tuple[World, int, frozenset[int]]) -> None:
    hold(*task)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 40), st.integers(0, 7))
def test_leaders_are_even_where_every_broker_holds_every_partition(brokers: int, partitions: int, at: int) -> None:
    """Whoever led them all before; `raise_rf` from one replica, `preferred` from all of them."""
    first = at % brokers + 1
    everyone = (first, *(b for b in range(1, brokers + 1) if b != first))
    live = dict.fromkeys(everyone)
    tps = [TopicPartition("__consumer_offsets", p) for p in range(partitions)]
    leaders = dict.fromkeys(tps, first)
    alone = World(live, dict.fromkeys(tps, (first,)), leaders, dict.fromkeys(tps, (first,)))
    full = World(live, dict.fromkeys(tps, everyone), leaders, dict.fromkeys(tps, everyone))
    for before, moves in (
        (alone, raise_rf(alone, tps, brokers, rotate=True)),
        (full, preferred(full, tps)),
    ):
        after = dict(before.assignments) | {m.tp: m.replicas for m in moves}
        led = [sum(replicas[0] == b for replicas in after.values()) for b in live]
        assert max(led) - min(led) <= 1
