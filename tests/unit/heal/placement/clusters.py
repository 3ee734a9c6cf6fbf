"""Clusters to plan on: small ones written by hand, and random ones from any source of chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.world import Move, World

#: `dice(low, high)` gives a whole number, both ends included.
Dice = Callable[[int, int], int]

TOPICS = ("__consumer_offsets", "orders", "pay.ments")


def tp(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def world(
    racks: str | Mapping[int, str | None],
    assigned: Mapping[str, tuple[int, ...]],
    *,
    dead: Iterable[int] = (),
    sizes: Mapping[str, int] | None = None,
    isr: Mapping[str, tuple[int, ...]] | None = None,
    leaders: Mapping[str, int] | None = None,
) -> World:
    """`racks` "aab-": brokers 1 and 2 in rack a, 3 in b, 4 without. All live replicas in sync, the first one leads."""
    known = {i: None if r == "-" else r for i, r in enumerate(racks, 1)} if isinstance(racks, str) else dict(racks)
    live = {b: r for b, r in known.items() if b not in set(dead)}
    full = {n: tuple(b for b in replicas if b in live) for n, replicas in assigned.items()}
    return World(
        live=live,
        assignments={tp(n): replicas for n, replicas in assigned.items()},
        leaders={tp(n): b for n, b in ({n: m[0] if m else -1 for n, m in full.items()} | dict(leaders or {})).items()},
        isr={tp(n): members for n, members in (full | dict(isr or {})).items()},
        sizes={tp(n): size for n, size in (sizes or {}).items()},
    )


def lists(moves: Iterable[Move]) -> dict[str, tuple[int, ...]]:
    return {str(m.tp): m.replicas for m in moves}


def random_world(dice: Dice, brokers: int, partitions: int) -> World:
    """Dead brokers, brokers without a rack, unknown ISRs, sizes and leaders, leaders out of the ISR."""
    ids = [(b if dice(0, 3) else b + 1000) for b in range(1, dice(1, brokers) + 1)]
    n_racks, mixed = dice(0, 4), dice(0, 5) == 0
    racks = {b: f"r{dice(1, n_racks)}" if n_racks and not (mixed and dice(0, 1)) else None for b in ids}
    dead = {b for b in ids[1:] if dice(0, 5) == 0}
    assignments, leaders, isr, sizes = {}, {}, {}, {}
    for at in range(dice(0, partitions)):
        part = TopicPartition(TOPICS[at % 3], at // 3)
        left = list(ids)
        replicas = tuple(left.pop(dice(0, len(left) - 1)) for _ in range(dice(1, min(5, len(ids)))))
        members = tuple(b for b in replicas if b not in dead and dice(0, 4))
        odd = dice(0, 9)
        assignments[part] = replicas
        if odd != 0:
            isr[part] = members or replicas[:1]
        if odd == 1:
            leaders[part] = replicas[dice(0, len(replicas) - 1)]
        elif odd != 2:
            leaders[part] = members[dice(0, len(members) - 1)] if members else -1
        if dice(0, 3):
            sizes[part] = dice(0, 5) * 100
    return World({b: racks[b] for b in ids if b not in dead}, assignments, leaders, isr, sizes)


def shuffled(old: World, seed: int) -> World:
    def mix(mapping):
        items = list(mapping.items())
        random.Random(seed).shuffle(items)
        return dict(items)

    return World(mix(old.live), mix(old.assignments), mix(old.leaders), mix(old.isr), mix(old.sizes))


def applied(old: World, moves: Iterable[Move]) -> World:
    """After the moves are done: what is alive is in sync, a leader that was moved away has given way to the first."""
    assignments, leaders, isr = dict(old.assignments), dict(old.leaders), dict(old.isr)
    for move in moves:
        assignments[move.tp] = move.replicas
        members = tuple(b for b in move.replicas if b in old.live)
        if move.tp in isr and set(move.replicas) != set(move.before):
            isr[move.tp] = members
        if leaders.get(move.tp) in set(move.before) - set(move.replicas):
            leaders[move.tp] = members[0] if members else -1
    return World(old.live, assignments, leaders, isr, old.sizes)
