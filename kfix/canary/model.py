"""What a canary tries, and what it met: one row per leader and one per coordinator."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final

from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.snapshot.snapshot import TopicPartition

#: The topic of a canary, and the prefix of its groups.
NAME: Final = "kfix-canary"
#: A leader of nothing: the partition has none.
NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class CanaryOptions:
    """What to try: the leaders on these brokers, and the coordinators of these partitions of __consumer_offsets.

    Without brokers it is all of them; without partitions and groups it is one partition of each coordinator.
    `groups` are names of real groups, whose partitions are tried and which are never touched. `within` limits one
    record and one join, in seconds. `creates` permits to create the topic, which the canary then deletes.
    """

    brokers: tuple[int, ...] = ()
    partitions: tuple[int, ...] = ()
    every_partition: bool = False
    groups: tuple[str, ...] = ()
    topic: str = NAME
    creates: bool = False
    within: float = 15.0


@dataclass(frozen=True, slots=True)
class LeaderTry:
    """One record through one leader: `seconds` from the call of the producer to the consumer; `error` "" if it came."""

    broker: int
    partition: TopicPartition
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class CoordinatorTry:
    """One member of a group of the canary: `joined` and `committed` are the seconds of both."""

    partition: TopicPartition
    broker: int
    group: str
    joined: float = 0.0
    committed: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class CanaryRound:
    at: float
    leaders: tuple[LeaderTry, ...]
    coordinators: tuple[CoordinatorTry, ...]


@dataclass(frozen=True, slots=True)
class Met:
    """What the rounds met at one leader or coordinator.

    `seconds` is the median of the tries that worked, `slowest` the longest; both are None if none worked.
    `error` is the last one.
    """

    broker: int
    partition: TopicPartition
    tries: int
    failures: int
    seconds: float | None
    slowest: float | None
    error: str


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """`seconds` of a leader are from producer to consumer, those of a coordinator until the member had joined.

    `untested` are sentences about what was asked and not tried, `left_behind` about what could not be removed.
    """

    cluster: str
    taken_at: float
    topic: str
    made_topic: bool
    rounds: int
    leaders: tuple[Met, ...]
    coordinators: tuple[Met, ...]
    untested: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Met, ...]:
        return tuple(each for each in (*self.leaders, *self.coordinators) if each.failures)

    @property
    def exit_code(self) -> int:
        """Returns 21 if a leader or coordinator never worked, 22 if something was not tried, 20 for anything else."""
        if any(each.failures == each.tries for each in self.failed):
            return CRITICAL
        if self.untested or not (self.leaders or self.coordinators):
            return CANNOT_TELL
        return WARNINGS if self.failed or self.left_behind else HEALTHY


def met(tries: Iterable[LeaderTry | CoordinatorTry]) -> tuple[Met, ...]:
    """Returns one row per partition, in the order of their first tries."""
    by_partition: dict[TopicPartition, list[LeaderTry | CoordinatorTry]] = {}
    for each in tries:
        by_partition.setdefault(each.partition, []).append(each)
    return tuple(_met(rows) for rows in by_partition.values())


def _met(rows: list[LeaderTry | CoordinatorTry]) -> Met:
    times = [each.seconds if isinstance(each, LeaderTry) else each.joined for each in rows if not each.error]
    errors = [each.error for each in rows if each.error]
    last = rows[-1]
    return Met(
        last.broker,
        last.partition,
        len(rows),
        len(errors),
        median(times) if times else None,
        max(times, default=None),
        errors[-1] if errors else "",
    )
