"""Changes the replication factor: chooses the brokers of new replicas, or the replicas to remove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.leaders import even_leaders
from kfix.heal.placement.world import Load, Move, PlacementError, World, and_more, chosen, racks_of


def change_rf(world: World, tps: Iterable[TopicPartition], rf: int, *, rotate: bool = False) -> tuple[Move, ...]:
    """Raises or lowers the replication factor of these partitions to `rf`; partitions that have it already are skipped.

    Raised: every replica stays, also one on a dead broker (`replace_brokers` removes it; the reassignment does not
    complete before it is back: docs/facts/controller.md). The live current leader is put first. With `rotate`, for
    internal topics, the lists are rotated so that each broker is preferred for about as many of `tps` as any other.

    Lowered: dead replicas are removed first, then those out of the ISR, then those whose removal keeps most racks, then
    those on the fullest broker; never the leader, never the last live ISR member.

    Raises PlacementError where there are fewer live brokers than `rf` for a raise, or where no in-sync replica would
    remain.
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
    planned: dict[TopicPartition, tuple[int, ...]] = {}
    for tp in wanted:
        if len(world.assignments[tp]) < rf:
            planned[tp] = _raised(world, load, tp, rf)
        elif len(world.assignments[tp]) > rf:
            planned[tp] = _lowered(world, load, tp, rf)
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


def _lowered(world: World, load: Load, tp: TopicPartition, rf: int) -> tuple[int, ...]:
    replicas = list(world.assignments[tp])
    known = tp in world.isr
    in_sync = set(world.live_isr(tp) if known else world.live) & set(replicas)
    if not in_sync:
        raise PlacementError(
            f"{tp}: no {'in-sync ' if known else ''}replica is alive (assigned {replicas}, {world.live_text()}), "
            "lowering the factor could drop the last good copy; bring one back first"
        )

    def rank(broker: int) -> tuple[bool, bool, int, tuple[int, int], int]:
        """Returns the sort key of removal: the replica with the greatest one is removed."""
        rest = [b for b in replicas if b != broker]
        dead = broker not in world.live
        return dead, broker not in in_sync, len(racks_of(world, rest)), load.of(broker), broker

    while len(replicas) > rf:
        kept = {world.leader(tp)} | (in_sync if len(in_sync) == 1 else set())
        free = [b for b in replicas if b not in kept]
        if not free:
            raise PlacementError(
                f"{tp}: leader {world.leader(tp)} is not in the ISR {sorted(in_sync)} and neither may go; "
                "wait until the leader is in sync"
            )
        gone = max(free, key=rank)
        replicas.remove(gone)
        in_sync.discard(gone)
        load.drop(tp, gone)
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
