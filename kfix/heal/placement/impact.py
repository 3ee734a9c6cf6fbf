"""The throttle lists of moves, and the batches in which they are made."""

from collections.abc import Iterable, Mapping, Sequence

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.world import Move, PlacementError


def throttled(moves: Iterable[Move]) -> dict[str, tuple[str, str]]:
    """Returns topic -> values of `leader.` and `follower.replication.throttled.replicas`, as `partition:broker,...`.

    Leaders: all replicas of before, since each may become the leader during the copy; followers: the added ones.
    The order is alphabetic, 10:1 before 2:1, as in Kafka's ReassignPartitionsCommand (calculateLeaderThrottles,
    calculateFollowerThrottles). Moves that copy nothing are left out: they would throttle ordinary followers.
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
    """Returns batches of `size` moves in the order of the partitions, after one of `canary` moves where that is not 0.

    The canaries are small but real moves: first those that copy the fewest bytes (`sizes`: bytes of one replica), then
    those of empty partitions, then those of unknown size, last those that only change the order.
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
