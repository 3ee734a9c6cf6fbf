"""Who holds how much, and which broker should hold the next replica."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kfix.model.cluster.snapshot import TopicPartition
from kfix.placement.world import World


class Load:
    """Replicas and bytes of every live broker, over all topics, and with what the plan in the making has changed.

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
        """Replicas and bytes; nothing for a broker that is not live."""
        return self._replicas.get(broker, 0), self._bytes.get(broker, 0)

    def best(self, candidates: Iterable[int], others: Collection[int]) -> int:
        """The live broker for a replica whose `others` stay: the rack with the fewest of them, then the least loaded.

        A broker without a rack may stand anywhere: it comes after the racks that hold none of the others, and before
        the racks that hold one.
        """
        held = [self._world.rack(b) for b in others]

        def rank(broker: int) -> tuple[float, tuple[int, int], int]:
            rack = self._world.rack(broker)
            return (0.5 if rack is None else held.count(rack)), self.of(broker), broker

        return min(candidates, key=rank)


def racks_of(world: World, replicas: Iterable[int]) -> set[str]:
    """The known racks of the live ones."""
    return {rack for b in replicas if (rack := world.rack(b)) is not None}


def most_racks(world: World, replicas: Iterable[int]) -> int:
    """In how many racks these replicas could lie. Those that are dead, or without a rack, are not counted."""
    placed = sum(world.rack(b) is not None for b in set(replicas))
    return min(placed, len(racks_of(world, world.live)))
