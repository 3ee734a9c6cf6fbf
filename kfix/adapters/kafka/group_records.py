"""The consumer groups that records of `__consumer_offsets` name, and what is committed for them.

Source: `OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataKey`, `GroupMetadataValue` (JSON schemas of Kafka 2.7.1
and 3.9). A key begins with its version: 0 and 1 for a committed offset, 2 for group metadata, 3 for group metadata of
the new protocol (KIP-848). A record without a value deletes its key. Offsets committed in a transaction count from its
commit marker on.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kfix.adapters.kafka.batches import Batch
from kfix.adapters.kafka.codec import ByteReader
from kfix.adapters.kafka.records import Record

_OFFSET_KEYS = (0, 1)
_GROUP_KEYS = (2, 3)
_MARKER = struct.Struct(">hh")
_COMMIT = 1

#: Topic and partition of a committed offset.
Where = tuple[str, int]


@dataclass(slots=True)
class RecordedGroup:
    """A group as its records leave it: `offsets` has the commit time of each partition (ms, None: unknown)."""

    offsets: dict[Where, int | None] = field(default_factory=dict)
    stored: bool = False
    members: int | None = None

    @property
    def there(self) -> bool:
        return self.stored or bool(self.offsets)


@dataclass(slots=True)
class RecordedTransaction:
    """The records of a transaction that has not ended. `base` is the offset of the first, `since_ms` its time."""

    base: int
    since_ms: int
    records: list[Record] = field(default_factory=list)

    def offsets(self) -> dict[str, list[Where]]:
        """Returns {group: partitions whose offset is pending}. Raises ProtocolError for a record of another kind."""
        found: dict[str, list[Where]] = {}
        for record in self.records:
            if record.key is not None and (key := ByteReader(record.key)).i16() in _OFFSET_KEYS:
                found.setdefault(key.string(), []).append((key.string(), key.i32()))
        return found


@dataclass(slots=True)
class GroupRecords:
    """What the records that were added so far leave; `open` are transactions without an end, by producer id."""

    groups: defaultdict[str, RecordedGroup] = field(default_factory=lambda: defaultdict(RecordedGroup))
    open: dict[int, RecordedTransaction] = field(default_factory=dict)

    def add(self, batch: Batch, records: Iterable[Record]) -> None:
        """Adds the records of one batch, in the order of the log.

        Raises ProtocolError for a record that is not of a group, and what `records` raises.
        """
        for record in records:
            if batch.control:
                self._end(record, batch.producer)
            elif batch.transactional:
                begun = self.open.setdefault(batch.producer, RecordedTransaction(batch.base, batch.first_ms))
                begun.records.append(record)
            else:
                self._apply(record)

    def _end(self, record: Record, producer: int) -> None:
        ended = self.open.pop(producer, None)
        key = record.key or b""
        if ended is not None and len(key) >= _MARKER.size and _MARKER.unpack_from(key)[1] == _COMMIT:
            for each in ended.records:
                self._apply(each)

    def _apply(self, record: Record) -> None:
        if record.key is None:
            return
        key = ByteReader(record.key)
        version = key.i16()
        if version in _OFFSET_KEYS:
            group, where = self.groups[key.string()], (key.string(), key.i32())
            if record.value is None:
                group.offsets.pop(where, None)
            else:
                group.offsets[where] = _commit_time(record.value)
        elif version in _GROUP_KEYS:
            group = self.groups[key.string()]
            group.stored = record.value is not None
            group.members = _members(record.value) if record.value is not None and version == 2 else None


def _commit_time(value: bytes) -> int | None:
    """Returns the commit time in milliseconds since the epoch, or None for unknown versions."""
    read = ByteReader(value)
    version = read.i16()
    if not 0 <= version <= 4:
        return None
    read.i64()  # offset
    if version >= 3:
        read.i32()  # leader epoch
    if version >= 4:
        read.compact_string()
    else:
        read.nullable_string()
    return read.i64()


def _members(value: bytes) -> int | None:
    read = ByteReader(value)
    version = read.i16()
    if not 0 <= version <= 4:
        return None
    text = read.compact_string if version >= 4 else read.nullable_string
    text()  # protocol type
    read.i32()  # generation
    text()  # protocol
    text()  # leader
    if version >= 2:
        read.i64()  # time of the last state change
    return max(0, read.uvarint() - 1 if version >= 4 else read.i32())
