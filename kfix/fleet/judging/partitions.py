"""The partitions of a stored cluster: rows by condition, and totals that are columns or part of the document."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow.compute as pc

from kfix.core.criteria import EXPECTED_TYPES, Expected, values_of
from kfix.core.derive.casefile import STANDING
from kfix.core.derive.liveness import Left
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.partitions import LazyRows, Rows
from kfix.core.derive.predicate import Predicate
from kfix.fleet.store.columns import Columns
from kfix.fleet.store.mappings import Raw
from kfix.fleet.store.schema import SAMPLE
from kfix.fleet.store.sieve import Sieve


class StoredPartitions:
    """Reads each column at most once. A row becomes an object, together with its raw state, if a condition picks it."""

    def __init__(self, columns: Columns, document: Mapping[str, Any], expected: Expected) -> None:
        self.raw = Raw(columns)
        self._columns = columns
        self._document = document
        self._expected = expected
        self._fetched: dict[int, PartitionFacts] = {}

    def __len__(self) -> int:
        return self._columns.rows

    @cached_property
    def topics(self) -> int:
        return int(self._document["topics"])

    @cached_property
    def leads(self) -> Mapping[int, int]:
        return _by_broker(self._document["leads"])

    @cached_property
    def preferred(self) -> Mapping[int, int]:
        return _by_broker(self._document["preferred"])

    @cached_property
    def holds(self) -> Mapping[int, int]:
        return _by_broker(self._document["holds"])

    @cached_property
    def samples(self) -> Rows:
        return LazyRows(lambda: self._at(pc.indices_nonzero(self._columns[SAMPLE]).to_pylist()))

    @cached_property
    def _left(self) -> Mapping[int, Left]:
        return {int(b): Left(*at) for b, at in self._document["left"].items()}

    @cached_property
    def _sieve(self) -> Sieve:
        return Sieve(self._columns.__getitem__, self._columns.rows, values_of(self._expected))

    def left(self, broker: int) -> Left:
        return self._left.get(broker, Left())

    def count(self, condition: Predicate) -> int:
        return self._sieve.count(condition)

    def where(self, condition: Predicate) -> Rows:
        return LazyRows(lambda: self._at(self._sieve.rows_of([condition])))

    def candidates(self, conditions: Sequence[Predicate]) -> Rows:
        """Reads all columns that a healthy cluster needs in one go, which matters for object stores."""
        names = frozenset[str]().union(*(c.names for c in (*conditions, *STANDING)))
        self._columns.read(sorted(names - EXPECTED_TYPES.keys()))
        return self._at(self._sieve.rows_of(conditions))

    def _at(self, numbers: Iterable[int]) -> tuple[PartitionFacts, ...]:
        rows = tuple(numbers)
        wanted = sorted(set(rows) - self._fetched.keys())
        if wanted:
            self._fetched.update(zip(wanted, self.raw.fetch(wanted), strict=True))
        return tuple(self._fetched[n] for n in rows)


def _by_broker(counts: Mapping[str, int]) -> Mapping[int, int]:
    return Counter({int(broker): int(n) for broker, n in counts.items()})
