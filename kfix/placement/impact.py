"""What moves cost: data copied, brokers touched, throttle lists, and in which portions to make them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kfix.model.cluster.snapshot import TopicPartition
from kfix.placement.world import Move, PlacementError, World


@dataclass(frozen=True, slots=True)
class Impact:
    """`bytes_moved` and `bytes_to` (by destination broker) are of partitions of known size only.

    `replicas_moved` are copies that are made anew. `unknown` counts the partitions that get such copies and whose size
    nobody told: where it is not 0 the bytes are a lower bound. `brokers` hold a replica before or after.
    """

    partitions: int
    replicas_moved: int
    bytes_moved: int
    unknown: int
    bytes_to: Mapping[int, int]
    brokers: tuple[int, ...]


def impact(moves: Iterable[Move], world: World) -> Impact:
    """A destination that gets partitions of unknown size only stands in `bytes_to` with 0."""
    listed = tuple(moves)
    copying = [m for m in listed if m.adding]
    to: dict[int, int] = defaultdict(int)
    for move in copying:
        for broker in move.adding:
            to[broker] += world.sizes.get(move.tp, 0)
    return Impact(
        partitions=len(listed),
        replicas_moved=sum(len(m.adding) for m in copying),
        bytes_moved=sum(to.values()),
        unknown=sum(m.tp not in world.sizes for m in copying),
        bytes_to=dict(sorted(to.items())),
        brokers=tuple(sorted({b for m in listed for b in (*m.before, *m.replicas)})),
    )


def throttled(moves: Iterable[Move]) -> dict[str, tuple[str, str]]:
    """Topic -> values of `leader.` and `follower.replication.throttled.replicas`, as `partition:broker,...`.

    Leaders: all replicas before, since each may come to lead while data is copied; followers: those that are added.
    The order is that of the texts, 10:1 before 2:1, as in Kafka's ReassignPartitionsCommand (calculateLeaderThrottles,
    calculateFollowerThrottles). Moves that copy nothing are left out, else they would slow down ordinary followers.
    """
    lists: dict[str, tuple[set[str], set[str]]] = {}
    for move in moves:
        if move.adding:
            leaders, followers = lists.setdefault(move.tp.topic, (set(), set()))
            leaders.update(f"{move.tp.partition}:{b}" for b in move.before)
            followers.update(f"{move.tp.partition}:{b}" for b in move.adding)
    return {topic: (",".join(sorted(a)), ",".join(sorted(b))) for topic, (a, b) in sorted(lists.items())}


def batches(
    moves: Iterable[Move], size: int, canary: int, sizes: Mapping[TopicPartition, int] | None = None
) -> tuple[tuple[Move, ...], ...]:
    """Portions of `size` moves in the order of the partitions; before them, where `canary` is not 0, one of that many.

    The canaries are small but real: those that copy the fewest bytes (`sizes`: bytes of one replica), then those that
    copy an empty partition, then one of unknown size, last those that only change an order.
    """
    if size < 1 or canary < 0:
        raise PlacementError(f"batches of {size} after {canary} canaries: a batch holds at least 1 move, canaries 0")
    rest = sorted(moves, key=lambda m: m.tp)
    first = sorted(rest, key=lambda m: _realness(m, sizes or {}))[:canary]
    rest = [m for m in rest if m not in first]
    return (*((tuple(first),) if first else ()), *_portions(rest, size))


def _realness(move: Move, sizes: Mapping[TopicPartition, int]) -> tuple[int, int, TopicPartition]:
    copied = sizes.get(move.tp, 0) * len(move.adding)
    if not move.adding:
        rank = 3
    elif move.tp not in sizes:
        rank = 2
    else:
        rank = 0 if copied else 1
    return rank, copied, move.tp


def _portions(moves: Sequence[Move], size: int) -> list[tuple[Move, ...]]:
    return [tuple(moves[at : at + size]) for at in range(0, len(moves), size)]
