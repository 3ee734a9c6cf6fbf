"""The parameters of a synthetic cluster: topics, unhealthy partitions, and the few shapes of its partitions."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Final, NamedTuple

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition

NOW: Final = 1_800_000_000.0
PLAIN: Final = "plain"
_SIZES: Final = (1, 3, 6, 12, 24, 48, 96)
_INTERNAL: Final = 50
_WELL: Final = "well"
#: The kinds of unhealthy partitions with their share in percent.
SICKNESSES: Final[Mapping[str, int]] = {
    "lagging": 55,
    "under-min-isr": 15,
    "leaderless": 10,
    "diverged": 10,
    "stale-view": 5,
    "one-replica": 5,
}


class PartitionShape(NamedTuple):
    """The state that partitions share. `kind` is the name of an internal topic, or `plain`; `start` is the index of
    its replicas in `SyntheticCluster.placements`.
    """

    kind: str
    start: int
    sickness: str


@dataclass(frozen=True)
class SyntheticCluster:
    """The parameters of a synthetic cluster; the same values give the same cluster.

    `sick` is the share of unhealthy partitions; `dead` brokers hold replicas and have been gone for `gone` seconds.
    Snapshots are numbered by day: from one day to the next at least half of the unhealthy partitions stay as they are,
    so that a history has new, persisting and fixed findings. `taken_at` is the time of day 0 in seconds since the
    epoch. `settings` are extra broker settings. `deaths` is how often the last broker of the ring has died or returned
    so far: the records of its partitions are written each time. They get a new leader epoch when it dies; those that it
    leads get another one when it returns. With `scattered`, replicas are on any brokers of different racks, as Kafka's
    rack-aware placement and years of moves leave them; else on neighbours in the ring. Raises UsageError for values out
    of range.
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
    day_number: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    deaths: int = 0
    scattered: bool = False

    def __post_init__(self) -> None:
        well = self.partitions >= 0 and 0 <= self.sick <= 1 and 0 <= self.dead < self.brokers and self.racks >= 0
        if not well:
            raise UsageError(
                f"{self.name}: {self.partitions} partitions on {self.brokers} brokers in {self.racks} racks, "
                f"{self.dead} of them dead, {self.sick} of the partitions sick: out of range"
            )

    @property
    def now(self) -> float:
        return self.taken_at + 86_400 * self.day_number

    @cached_property
    def ring(self) -> tuple[int, ...]:
        """The brokers in an order in which neighbours are in different racks."""
        return tuple(range(1, self.brokers + 1))

    @cached_property
    def placements(self) -> tuple[tuple[int, ...], ...]:
        """The brokers of each possible placement of three replicas, the preferred leader first."""
        factor = min(3, self.brokers)
        racks = max(self.racks, factor)
        if not self.scattered:
            return tuple(tuple(self.ring[(at + i) % self.brokers] for i in range(factor)) for at in range(self.brokers))
        return tuple(p for p in permutations(self.ring, factor) if len({b % racks for b in p}) == factor)

    @cached_property
    def live(self) -> frozenset[int]:
        return frozenset(self.ring[: len(self.ring) - self.dead])

    @cached_property
    def topics(self) -> Mapping[str, int]:
        """The number of partitions by topic, sorted as in the store."""
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
        """Returns (the shapes that occur, the index of each partition's shape in that list)."""
        rng = random.Random(f"{self.seed}/{self.name}/state")  # noqa: S311 - not for secrets
        ill = self._ill
        known: dict[PartitionShape, int] = {}
        places: list[int] = []
        for topic, size in self.topics.items():
            kind = topic if topic in {OFFSETS_TOPIC, TRANSACTIONS_TOPIC} else PLAIN
            starts = self._starts(rng, size)
            several = {start: PartitionShape(kind, start, _WELL) for start in dict.fromkeys(starts)}
            numbers = {start: known.setdefault(shape, len(known)) for start, shape in several.items()}
            at = len(places)
            places += [numbers[start] for start in starts]
            for p in range(size) if ill else ():
                if at + p in ill:
                    shape = PartitionShape(kind, starts[p], ill[at + p])
                    places[at + p] = known.setdefault(shape, len(known))
        used = sorted(set(places))
        order = {old: new for new, old in enumerate(used)}
        shapes = [*known]
        return [shapes[i] for i in used], [order[i] for i in places]

    def _starts(self, rng: random.Random, size: int) -> list[int]:
        """Returns the placement of each partition of a topic."""
        count = len(self.placements)
        first = rng.randrange(count)
        if self.scattered:
            return [rng.randrange(count) for _ in range(size)]
        return ([(first + p) % count for p in range(min(size, count))] * (size // count + 1))[:size]

    @property
    def _ill(self) -> Mapping[int, str]:
        """The kind of fault by partition, numbered over the whole cluster. Two halves change in turn."""
        total = round(self.sick * self.partitions)
        found: dict[int, str] = {}
        for half, count in enumerate((total // 2, total - total // 2)):
            rng = random.Random(f"{self.seed}/{self.name}/ill/{half}/{(self.day_number + half) // 2}")  # noqa: S311
            # One half has the even partitions, the other the odd ones.
            numbers = range(half, self.partitions, 2)
            for i in rng.sample(numbers, min(count, len(numbers))):
                found[i] = rng.choices([*SICKNESSES], [*SICKNESSES.values()])[0]
        return found

    def names(self) -> Iterator[TopicPartition]:
        return (TopicPartition(t, p) for t, size in self.topics.items() for p in range(size))
