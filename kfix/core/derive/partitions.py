"""All partitions of one cluster: rows of facts that meet a condition, and totals over every row.

A check gets the rows that it declares and never walks over all of them. `SnapshotPartitions` answers from the rows of a
snapshot; `kfix.fleet.judging` answers the same questions from the columns of a stored cluster.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, overload

from kfix.core.criteria import EXPECTED, Expected
from kfix.core.derive.background import Background, leavings, replica_counts
from kfix.core.derive.liveness import Left
from kfix.core.derive.partition_facts import PartitionFacts, derive
from kfix.core.derive.predicate import Matcher, Predicate, compile_all
from kfix.core.snapshot.snapshot import Snapshot

Rows = Sequence[PartitionFacts]


class LazyRows(Sequence[PartitionFacts]):
    """Rows that are picked on first use: most checks return before they need theirs."""

    def __init__(self, pick: Callable[[], Rows]) -> None:
        self._pick = pick

    @cached_property
    def _rows(self) -> Rows:
        return self._pick()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[PartitionFacts]:
        return iter(self._rows)

    @overload
    def __getitem__(self, at: int) -> PartitionFacts: ...

    @overload
    def __getitem__(self, at: slice) -> Rows: ...

    def __getitem__(self, at: int | slice) -> PartitionFacts | Rows:
        return self._rows[at]


class Partitions(Protocol):
    """Brokers without an entry in `leads`, `preferred` and `holds` have 0; -1 and -2 there mean no known broker."""

    def __len__(self) -> int: ...

    @property
    def topics(self) -> int: ...

    @property
    def leads(self) -> Mapping[int, int]:
        """The number of partitions that each broker leads."""
        ...

    @property
    def preferred(self) -> Mapping[int, int]:
        """The number of partitions for which each broker is the preferred leader."""
        ...

    @property
    def holds(self) -> Mapping[int, int]:
        """The number of replicas that are assigned to each broker."""
        ...

    @property
    def samples(self) -> Rows:
        """Rows among which every combination of a leader and the members of its ISR occurs."""
        ...

    def left(self, broker: int) -> Left:
        """Returns when the broker left, as `background.leavings` does."""
        ...

    def count(self, condition: Predicate) -> int: ...

    def where(self, condition: Predicate) -> Rows:
        """Returns the rows that meet the condition, sorted by topic and partition."""
        ...

    def candidates(self, conditions: Sequence[Predicate]) -> Rows:
        """Returns at least the rows that meet one of the conditions, sorted by topic and partition."""
        ...


@dataclass(frozen=True)
class SnapshotPartitions:
    snapshot: Snapshot
    background: Background
    expected: Expected = EXPECTED

    @cached_property
    def facts(self) -> tuple[PartitionFacts, ...]:
        return derive(self.snapshot, self.background)

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def topics(self) -> int:
        return len({f.topic for f in self.facts})

    @cached_property
    def leads(self) -> Mapping[int, int]:
        return Counter(f.leader for f in self.facts)

    @cached_property
    def preferred(self) -> Mapping[int, int]:
        return Counter(f.preferred for f in self.facts)

    @cached_property
    def holds(self) -> Mapping[int, int]:
        return replica_counts(self.snapshot)

    @property
    def samples(self) -> Rows:
        return self.facts

    @cached_property
    def _left(self) -> Mapping[int, Left]:
        return leavings(self.snapshot)

    def left(self, broker: int) -> Left:
        return self._left.get(broker, Left())

    def count(self, condition: Predicate) -> int:
        return len(self._picked(condition))

    def where(self, condition: Predicate) -> Rows:
        return LazyRows(lambda: self._picked(condition))

    def candidates(self, conditions: Sequence[Predicate]) -> Rows:  # noqa: ARG002 - one loop tries them all
        return self.facts

    def _picked(self, condition: Predicate) -> list[PartitionFacts]:
        [rows] = _matcher(condition)(self.facts, self.expected)
        return rows


@cache
def _matcher(condition: Predicate) -> Matcher:
    return compile_all([condition])
