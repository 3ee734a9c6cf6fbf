"""Moves replicas off brokers that are removed or lost; everything else stays."""

from collections.abc import Iterable, Mapping

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named
from kfix.heal.placement.world import Load, Move, PlacementError, World, and_more, chosen


def replace_brokers(world: World, gone: frozenset[int], tps: Iterable[TopicPartition]) -> tuple[Move, ...]:
    """Moves every replica of `tps` on a broker of `gone` to a live broker.

    Positions in the lists and replication factors stay; racks as in `raise_rf`. `gone` may name live brokers: they
    are emptied. Raises PlacementError where too few brokers are left.
    """
    takers = sorted(world.live.keys() - gone)
    load = Load(world)
    moves: list[Move] = []
    short: list[TopicPartition] = []
    for tp in chosen(world, tps):
        before = world.assignments[tp]
        replicas = list(before)
        for at, broker in enumerate(before):
            if broker not in gone:
                continue
            candidates = [b for b in takers if b not in replicas]
            if not candidates:
                short.append(tp)
                break
            load.drop(tp, broker)
            replicas[at] = load.best(candidates, [b for b in replicas if b not in gone])
            load.put(tp, replicas[at])
        if tuple(replicas) != before:
            moves.append(Move(tp, before, tuple(replicas)))
    if short:
        raise PlacementError(
            f"{and_more(short)}: no broker is left for the replicas of {brokers_named(gone)}: they can go to "
            f"{brokers_named(takers) if takers else 'none'} and {world.live_text()}; start another broker, or "
            "lower the replication factor first"
        )
    return tuple(moves)


def replace_as(world: World, heirs: Mapping[int, int]) -> tuple[Move, ...]:
    """`{2: 4}`: broker 2 was re-created as 4 and takes its positions, in all topics.

    Raises PlacementError with all heirs that are not live, or would hold a partition twice.
    """
    problems = [
        f"broker {new} is to take over from {old} but is not alive ({world.live_text()}); start it first"
        for old, new in sorted(heirs.items())
        if new not in world.live
    ]
    moves: list[Move] = []
    twice: dict[int, list[TopicPartition]] = {}
    for tp, before in sorted(world.assignments.items()):
        taken = set(before)
        for old in before:
            if old in heirs:
                if heirs[old] in taken:
                    twice.setdefault(heirs[old], []).append(tp)
                taken.add(heirs[old])
        if any(b in heirs for b in before):
            moves.append(Move(tp, before, tuple(heirs.get(b, b) for b in before)))
    problems += [
        f"broker {new} would hold {and_more(tps)} twice; replace the brokers without naming heirs"
        for new, tps in sorted(twice.items())
    ]
    if problems:
        raise PlacementError("; ".join(problems))
    return tuple(moves)
