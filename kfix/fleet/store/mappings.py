"""The raw state of a stored cluster as the mappings of a snapshot, read from columns on demand.

The mappings are complete: every lookup returns what the snapshot returned. Only iterating over a whole mapping is slow.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.snapshot.snapshot import Assignment, PartitionState, PartitionView, TopicPartition
from kfix.fleet.store.columns import Columns
from kfix.fleet.store.schema import RAW_NAMES

T = TypeVar("T")
#: A row that is read by itself is read together with the rows that follow it.
_CHUNK: Final = 64
_COMMON: Final = "common view"
_make: Callable[[Any], PartitionFacts] = partial(tuple.__new__, PartitionFacts)


class Raw:
    """The raw state of single partitions. Those that were fetched come in one go, others with their neighbours:
    whoever asks for one and then for the next is walking.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._names = RAW_NAMES
        self._rows: dict[TopicPartition, dict[str, Any] | None] = {}
        self._fetched: dict[TopicPartition, int] = {}

    def fetch(self, numbers: Sequence[int]) -> list[PartitionFacts]:
        """The facts of these rows of the file. Their raw state is read in one go once that of one is asked for."""
        facts = list(map(_make, zip(*self._columns.taken(PartitionFacts._fields, numbers), strict=True)))
        self._fetched.update(zip((fact.tp for fact in facts), numbers, strict=True))
        return facts

    def __getitem__(self, tp: TopicPartition) -> dict[str, Any] | None:
        if tp in self._fetched:
            names, numbers = [*self._fetched], [*self._fetched.values()]
            self._fetched.clear()
            for each, row in zip(names, zip(*self._columns.taken(self._names, numbers), strict=True), strict=True):
                self._rows[each] = dict(zip(self._names, row, strict=True))
        if tp not in self._rows:
            at = self._columns.row_of(tp)
            self._rows[tp] = None
            if at is not None:
                for _ in self._slice(at, _CHUNK):
                    pass
        return self._rows[tp]

    def all(self) -> Iterator[TopicPartition]:
        """Whoever walks through all of them will want their values: they are read in one go."""
        return self._slice(0, self._columns.rows)

    def _slice(self, start: int, count: int) -> Iterator[TopicPartition]:
        topics, numbers, *values = self._columns.sliced(["topic", "partition", *self._names], start, count)
        for tp, row in zip(map(TopicPartition, topics, numbers), zip(*values, strict=True), strict=True):
            self._rows[tp] = dict(zip(self._names, row, strict=True))
            yield tp


class StoredMapping(Mapping[TopicPartition, T], Generic[T]):
    """`make` gives None for a partition that this source did not know; `size` is how many it knew."""

    def __init__(self, raw: Raw, make: Callable[[dict[str, Any]], T | None], size: int) -> None:
        self._raw = raw
        self._make = make
        self._size = size

    def __getitem__(self, tp: TopicPartition) -> T:
        row = self._raw[tp] if self._size else None
        found = None if row is None else self._make(row)
        if found is None:
            raise KeyError(tp)
        return found

    def __iter__(self) -> Iterator[TopicPartition]:
        return (tp for tp in self._raw.all() if tp in self) if self._size else iter(())

    def __len__(self) -> int:
        return self._size


def assignment_in(row: Mapping[str, Any]) -> Assignment | None:
    replicas = row["replicas"]
    return None if replicas is None else Assignment(tuple(replicas), _ids(row["adding"]), _ids(row["removing"]))


def state_in(row: Mapping[str, Any]) -> PartitionState | None:
    if row["state_leader"] is None:
        return None
    return PartitionState(
        row["state_leader"],
        row["state_epoch"],
        _ids(row["state_isr"]),
        row["state_controller_epoch"],
        row["state_version"],
        row["state_mzxid"],
        row["state_mtime_ms"],
    )


def view_in(broker: int, row: dict[str, Any]) -> PartitionView | None:
    """What this broker believes; None where it does not know the partition."""
    if row["seen_leader"] is None:
        return None
    if row["seen_others"]:
        others = json.loads(row["seen_others"])
        if str(broker) in others:
            return _other(others[str(broker)])
    # Nearly all brokers believe the same: it is made once.
    if _COMMON not in row:
        row[_COMMON] = _common(row)
    common: PartitionView = row[_COMMON]
    return common


def _other(fields: Sequence[Any] | None) -> PartitionView | None:
    if fields is None:
        return None
    leader, epoch, replicas, isr, offline, error = fields
    return PartitionView(leader, epoch, _ids(replicas), _ids(isr), _ids(offline), error)


def _common(row: Mapping[str, Any]) -> PartitionView:
    return PartitionView(
        row["seen_leader"],
        row["seen_epoch"],
        _ids(row["replicas"] if row["seen_replicas"] is None else row["seen_replicas"]),
        _ids(row["state_isr"] if row["seen_isr"] is None else row["seen_isr"]),
        _ids(row["seen_offline"]),
        row["seen_error"],
    )


def _ids(values: Sequence[int] | None) -> tuple[int, ...]:
    return tuple(values) if values is not None else ()
