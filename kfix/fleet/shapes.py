"""What a synthetic cluster is made of: topics, sick partitions, and the few shapes that all its partitions have."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from kfix.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.errors import UsageError
from kfix.model.cluster.snapshot import TopicPartition

NOW: Final = 1_800_000_000.0
PLAIN: Final = "plain"
_SIZES: Final = (1, 3, 6, 12, 24, 48, 96)
_INTERNAL: Final = 50
_WELL: Final = "well"
#: Ways to be sick, and how many of a hundred sick partitions each.
SICKNESSES: Final[Mapping[str, int]] = {
    "lagging": 55,
    "under-min-isr": 15,
    "leaderless": 10,
    "diverged": 10,
    "stale-view": 5,
    "one-replica": 5,
}


class PartitionShape(NamedTuple):
    """`kind` is the topic's: an internal one's name, or `plain`; `start` the place of its first broker in the ring."""

    kind: str
    start: int
    sickness: str


@dataclass(frozen=True)
class SyntheticCluster:
    """`sick` is the share of partitions that are; `dead` brokers hold replicas and are gone for `gone` seconds.

    The same values give the same cluster. Looks are numbered, one a day: from one to the next at least half of the sick
    partitions stay what they are, so that a history has what is new, still there and fixed. `taken_at` is the time of
    look 0, seconds since the epoch. `settings` are its brokers' beside the usual ones. UsageError where the values make
    no cluster.
    """

    name: str
    partitions: int = 10_000
    brokers: int = 12
    racks: int = 3
    sick: float = 0.001
    dead: int = 0
    gone: float = 7200.0
    seed: int = 0
    taken_at: float = NOW
    look: int = 0
    settings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        well = self.partitions >= 0 and 0 <= self.sick <= 1 and 0 <= self.dead < self.brokers and self.racks >= 0
        if not well:
            raise UsageError(
                f"{self.name}: {self.partitions} partitions on {self.brokers} brokers in {self.racks} racks, "
                f"{self.dead} of them dead, {self.sick} of the partitions sick: no cluster"
            )

    @property
    def now(self) -> float:
        return self.taken_at + 86_400 * self.look

    @cached_property
    def ring(self) -> tuple[int, ...]:
        """Neighbours are in different racks."""
        return tuple(range(1, self.brokers + 1))

    @cached_property
    def live(self) -> frozenset[int]:
        return frozenset(self.ring[: len(self.ring) - self.dead])

    @cached_property
    def topics(self) -> Mapping[str, int]:
        """Name -> partitions, sorted as the store sorts."""
        rng = random.Random(f"{self.seed}/{self.name}/topics")  # noqa: S311 - not for secrets
        sizes = (
            dict.fromkeys((OFFSETS_TOPIC, TRANSACTIONS_TOPIC), _INTERNAL) if self.partitions >= 4 * _INTERNAL else {}
        )
        room = self.partitions - sum(sizes.values())
        while room > 0:
            size = min(rng.choice(_SIZES), room)
            sizes[f"{rng.choice(('orders', 'events', 'audit', 'metrics'))}.{len(sizes):04}"] = size
            room -= size
        return dict(sorted(sizes.items()))

    @cached_property
    def shapes(self) -> tuple[list[PartitionShape], list[int]]:
        """(the shapes that occur, the shape of each partition as a place in that list)."""
        rng = random.Random(f"{self.seed}/{self.name}/state")  # noqa: S311 - not for secrets
        ill = self._ill
        known: dict[PartitionShape, int] = {}
        places: list[int] = []
        for topic, size in self.topics.items():
            kind = topic if topic in {OFFSETS_TOPIC, TRANSACTIONS_TOPIC} else PLAIN
            first = rng.randrange(self.brokers)
            ring = [
                known.setdefault(PartitionShape(kind, (first + p) % self.brokers, _WELL), len(known))
                for p in range(min(size, self.brokers))
            ]
            at = len(places)
            places += (ring * (size // len(ring) + 1))[:size]
            for p in range(size) if ill else ():
                if at + p in ill:
                    shape = PartitionShape(kind, (first + p) % self.brokers, ill[at + p])
                    places[at + p] = known.setdefault(shape, len(known))
        used = sorted(set(places))
        order = {old: new for new, old in enumerate(used)}
        shapes = [*known]
        return [shapes[i] for i in used], [order[i] for i in places]

    @property
    def _ill(self) -> Mapping[int, str]:
        """Partition, as a number in the whole cluster -> its sickness. Two halves that change in turn."""
        total = round(self.sick * self.partitions)
        found: dict[int, str] = {}
        for half, count in enumerate((total // 2, total - total // 2)):
            rng = random.Random(f"{self.seed}/{self.name}/ill/{half}/{(self.look + half) // 2}")  # noqa: S311
            # Each half has partitions of its own: the even and the odd ones.
            numbers = range(half, self.partitions, 2)
            for i in rng.sample(numbers, min(count, len(numbers))):
                found[i] = rng.choices([*SICKNESSES], [*SICKNESSES.values()])[0]
        return found

    def names(self) -> Iterator[TopicPartition]:
        return (TopicPartition(t, p) for t, size in self.topics.items() for p in range(size))
