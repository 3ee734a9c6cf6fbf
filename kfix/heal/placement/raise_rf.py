"""Raises the replication factor: chooses the brokers of new replicas."""

from collections import Counter
from collections.abc import Iterable

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.leaders import even_leaders
from kfix.heal.placement.world import Load, Move, PlacementError, World, and_more, chosen


def raise_rf(world: World, tps: Iterable[TopicPartition], rf: int, *, rotate: bool = False) -> tuple[Move, ...]:
    """Raises the replication factor of these partitions to `rf`; partitions that have it already are skipped.

    Every replica stays, also one on a dead broker (`replace_brokers` removes it; the reassignment does not complete
    before it is back: docs/facts/controller.md). The live current leader is put first. With `rotate`, for internal
    topics, the lists are rotated so that each broker is preferred for about as many of `tps` as any other.

    Raises PlacementError where there are fewer live brokers than `rf`.
    """
    if rf < 1:
        raise PlacementError(f"replication factor {rf}: it is at least 1")
    wanted = chosen(world, tps)
    rising = [tp for tp in wanted if len(world.assignments[tp]) < rf]
    if rising and rf > len(world.live):
        raise PlacementError(
            f"{and_more(rising)}: replication factor {rf} needs {rf} live brokers and {world.live_text()}; "
            "start the missing ones, or ask for a lower factor"
        )
    load = Load(world)
    planned = {tp: _raised(world, load, tp, rf) for tp in rising}
    first = _rotated(world, wanted, planned) if rotate else _leaders(world, planned)
    return tuple(
        Move(tp, world.assignments[tp], _turned(replicas, first[tp]) if rotate else _led(replicas, first[tp]))
        for tp, replicas in planned.items()
    )


def _raised(world: World, load: Load, tp: TopicPartition, rf: int) -> tuple[int, ...]:
    replicas = list(world.assignments[tp])
    while len(replicas) < rf:
        broker = load.best((b for b in world.live if b not in replicas), replicas)
        load.put(tp, broker)
        replicas.append(broker)
    return tuple(replicas)


def _leaders(world: World, planned: dict[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, int]:
    """Puts the live current leader first; where there is none the list keeps its order."""
    return {tp: replicas[0] if (leader := world.leader(tp)) is None else leader for tp, replicas in planned.items()}


def _rotated(
    world: World, wanted: Iterable[TopicPartition], planned: dict[TopicPartition, tuple[int, ...]]
) -> dict[TopicPartition, int]:
    """All of `wanted` count; only those that change anyway can be rotated."""
    fixed = Counter(world.assignments[tp][0] for tp in wanted if tp not in planned and world.assignments[tp])
    options = {tp: tuple(b for b in replicas if b in world.live) for tp, replicas in planned.items()}
    return even_leaders(options, _leaders(world, planned), fixed)


def _led(replicas: tuple[int, ...], first: int) -> tuple[int, ...]:
    return (first, *(b for b in replicas if b != first))


def _turned(replicas: tuple[int, ...], first: int) -> tuple[int, ...]:
    """Rotates rather than moves to the front: then the successors of a dead leader are spread as well."""
    at = replicas.index(first)
    return replicas[at:] + replicas[:at]
