"""The input of a placement, how much each broker holds, and the result."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import several


class PlacementError(Exception):
    """The request cannot be met on this cluster; the message states why and names a remedy."""


@dataclass(frozen=True, slots=True)
class World:
    """`live` are the registered brokers with their racks (None: no rack). `assignments` are of ALL topics.

    `sizes` are bytes of one replica; a partition of unknown size is absent.
    """

    live: Mapping[int, str | None]
    assignments: Mapping[TopicPartition, tuple[int, ...]]
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    isr: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)

    def rack(self, broker: int) -> str | None:
        """Returns the rack; None also for a broker that is not live: its next rack is unknown."""
        return self.live.get(broker)

    def leader(self, tp: TopicPartition) -> int | None:
        """Returns the live assigned leader; None where there is none, or where it is unknown."""
        leader = self.leaders.get(tp)
        return leader if leader in self.live and leader in self.assignments[tp] else None

    def live_isr(self, tp: TopicPartition) -> tuple[int, ...]:
        """Returns the assigned, live, in-sync replicas; none where the ISR is unknown: unknown is not in sync."""
        isr = self.isr.get(tp, ())
        return tuple(b for b in self.assignments[tp] if b in isr and b in self.live)

    def live_text(self) -> str:
        """Returns the number of live brokers, and which, for messages."""
        ids = sorted(self.live)
        if not ids:
            return "no broker is alive"
        return f"{several(len(ids), 'broker is', 'brokers are')} alive ({', '.join(map(str, ids))})"


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's replicas as they are and as they should be, both in order: the first is the preferred leader."""

    tp: TopicPartition
    before: tuple[int, ...]
    replicas: tuple[int, ...]

    @property
    def adding(self) -> tuple[int, ...]:
        return tuple(b for b in self.replicas if b not in self.before)


Assignments = Iterable[tuple[TopicPartition, tuple[int, ...]]]


def chosen(world: World, tps: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Returns the partitions in order, each once; raises PlacementError where the cluster has no such partition."""
    wanted = sorted(set(tps))
    unknown = [tp for tp in wanted if tp not in world.assignments]
    if unknown:
        raise PlacementError(f"{and_more(unknown)}: no such partition in this cluster")
    return tuple(wanted)


def and_more(tps: Iterable[TopicPartition]) -> str:
    """Returns the first partition and the number of the others, for messages."""
    first, *others = sorted(tps)
    return f"{first} and {len(others)} more" if others else str(first)


class Load:
    """Replicas and bytes of every live broker over all topics, including the changes planned so far.

    A replica of unknown size counts as a replica of no bytes.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._replicas = dict.fromkeys(world.live, 0)
        self._bytes = dict.fromkeys(world.live, 0)
        for tp, replicas in world.assignments.items():
            for broker in replicas:
                self.put(tp, broker)

    def put(self, tp: TopicPartition, broker: int, times: int = 1) -> None:
        if broker in self._replicas:
            self._replicas[broker] += times
            self._bytes[broker] += times * self._world.sizes.get(tp, 0)

    def drop(self, tp: TopicPartition, broker: int) -> None:
        self.put(tp, broker, -1)

    def of(self, broker: int) -> tuple[int, int]:
        """Returns replicas and bytes; zeros for a broker that is not live."""
        return self._replicas.get(broker, 0), self._bytes.get(broker, 0)

    def best(self, candidates: Iterable[int], others: Collection[int]) -> int:
        """The live broker for a replica whose `others` stay: the least loaded of the rack with the fewest of them.

        A broker without a rack may be in any rack: it comes after the racks that hold none of the others, and before
        the racks that hold one.
        """
        held = [self._world.rack(b) for b in others]

        def rank(broker: int) -> tuple[float, tuple[int, int], int]:
            rack = self._world.rack(broker)
            return (0.5 if rack is None else held.count(rack)), self.of(broker), broker

        return min(candidates, key=rank)


def racks_of(world: World, replicas: Iterable[int]) -> set[str]:
    """Returns the known racks of the live brokers."""
    return {rack for b in replicas if (rack := world.rack(b)) is not None}


def most_racks(world: World, replicas: Iterable[int]) -> int:
    """The number of racks that these replicas could span; dead brokers and those without a rack do not count."""
    placed = sum(world.rack(b) is not None for b in set(replicas))
    return min(placed, len(racks_of(world, world.live)))
