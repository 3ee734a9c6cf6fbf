"""Which records of `__consumer_offsets` the coordinator of Kafka 4 cannot load, and the offsets in the log.

Source: `GroupMetadataManager.replay` of Kafka 4.x: a record of the consumer protocol, even one without a value, raises
an exception while the group is a classic one. Only a classic group without a protocol type is replaced: it exists only
to hold committed offsets. Tried on 4.3.1 (docs/facts/consumer-groups.md). Whether every other record loads is not
known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kfix.core.kafka.batches import Batch
from kfix.core.kafka.codec import ByteReader, versioned
from kfix.core.kafka.group_records import NEWEST, GroupRecords
from kfix.core.kafka.records import Record
from kfix.core.snapshot.load_conflicts import KeyLeft, LoadConflict

_CLASSIC = 2
_OFFSETS = frozenset({0, 1})
#: Types of records of the consumer protocol; the last one is a regular expression that members subscribe to.
_CONSUMER = frozenset({3, 4, 5, 6, 7, 8, 16})


@dataclass(slots=True)
class LoadReplay:
    """`conflicts` by key; `unknown` is the first record of a version that kfix does not know."""

    groups: GroupRecords = field(default_factory=GroupRecords)
    conflicts: dict[bytes, LoadConflict] = field(default_factory=dict)
    unknown: str = ""
    _classic: dict[str, int] = field(default_factory=dict)
    _first: dict[bytes, int] = field(default_factory=dict)

    def add(self, batch: Batch, found: Iterable[Record]) -> None:
        """Adds the records of one batch, in the order of the log. Raises the errors of `GroupRecords.add`."""
        each = tuple(found)
        self.groups.add(batch, each)
        if batch.control:
            return
        for record in each:
            if record.key is not None:
                self._replay(record.key, record.value, batch.base + record.delta)

    def _replay(self, raw: bytes, value: bytes | None, offset: int) -> None:
        key = ByteReader(raw)
        kind = key.i16()
        if value is not None and kind in {_CLASSIC, *_OFFSETS} and ByteReader(value).i16() > NEWEST:
            self.unknown = self.unknown or f"offset {offset} has a record in a version that kfix does not know"
            return
        if kind == _CLASSIC:
            self._replay_classic(key.string(), value, offset)
        elif kind in _CONSUMER:
            group, first = key.string(), self._first.setdefault(raw, offset)
            if group in self._classic and raw not in self.conflicts:
                self.conflicts[raw] = LoadConflict(group, raw.hex(), kind, offset, first, self._classic[group])

    def _replay_classic(self, group: str, value: bytes | None, offset: int) -> None:
        found = None if value is None else versioned("protocol_type:str", value, newest=NEWEST, flexible=NEWEST)
        if found is not None and found[0]:
            self._classic[group] = offset
        else:
            self._classic.pop(group, None)


def count_key(found: KeyLeft, key: bytes, records: Iterable[Record]) -> KeyLeft:
    """Returns `found` including the records of this key in `records`, which come next in the log."""
    for record in records:
        if record.key == key:
            gone = record.value is None
            found = KeyLeft(found.values + (not gone), found.tombstones + gone, gone)
    return found
