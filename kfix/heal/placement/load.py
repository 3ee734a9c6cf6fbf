"""How much each broker holds, and which broker should get the next replica."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.placement.world import World


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
