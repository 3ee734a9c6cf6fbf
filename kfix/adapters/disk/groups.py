"""Reads the consumer groups in a replica of `__consumer_offsets` from its records.

Source: `OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataKey`, `GroupMetadataValue` (JSON schemas of Kafka 2.7.1
and 3.9). A key begins with its version: 0 and 1 for a committed offset, 2 for group metadata, 3 for group metadata of
the new protocol (KIP-848). A record without a value deletes its key. Offsets committed in a transaction count from its
commit marker on.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from kfix.adapters.disk.batches import Batch
from kfix.adapters.disk.opening import DiskFile, NotReadError
from kfix.adapters.disk.records import Record, UnreadBatchError, records
from kfix.adapters.disk.segments import Report, batches_from, segments_in
from kfix.adapters.kafka.codec import ByteReader, ProtocolError
from kfix.model.disk import Grade, Oddity, Replica, StoredGroup, StoredGroups

_OFFSET_KEYS = (0, 1)
_GROUP_KEYS = (2, 3)
_MARKER = struct.Struct(">hh")
_COMMIT = 1
_MOST_REPORTED = 5

Where = tuple[str, int]


@dataclass(slots=True)
class _Group:
    offsets: dict[Where, int | None] = field(default_factory=dict)
    stored: bool = False
    members: int | None = None

    @property
    def there(self) -> bool:
        return self.stored or bool(self.offsets)


@dataclass(slots=True)
class _State:
    groups: defaultdict[str, _Group] = field(default_factory=lambda: defaultdict(_Group))
    pending: defaultdict[int, list[Record]] = field(default_factory=lambda: defaultdict(list))


def read_groups(replica: Replica, folder: Path, report: Report) -> StoredGroups:
    """Returns the groups from all records below the log end; `report` receives what could not be read."""
    state, unread = _State(), 0

    def count_unread(oddity: Oddity) -> None:
        nonlocal unread
        unread += 1
        if unread <= _MOST_REPORTED:
            report(oddity)

    try:
        segments = segments_in(folder)
    except NotReadError as error:
        segments = []
        count_unread(error.oddity)
    for file, batch in batches_from(segments, 0, lambda odd: count_unread(odd._replace(grade=Grade.UNREAD))):
        _read_batch(file, batch, state, count_unread)
    if unread > _MOST_REPORTED:
        report(Oddity(replica.folder, None, f"{unread - _MOST_REPORTED} more batches with unread groups", Grade.UNREAD))
    return StoredGroups(replica, _stored_groups(state), complete=not unread)


def _read_batch(file: DiskFile, batch: Batch, state: _State, report: Report) -> None:
    try:
        for record in records(file, batch):
            if batch.control:
                _end_transaction(record, batch.producer, state)
            elif batch.transactional:
                state.pending[batch.producer].append(record)
            else:
                _apply(record, state)
    except (UnreadBatchError, ProtocolError) as error:
        why = str(error) if isinstance(error, UnreadBatchError) else "has a record that is not of a group"
        what = f"the batch of offsets {batch.base} to {batch.last} {why}"
        report(Oddity(file.name, batch.at, what, Grade.UNREAD))


def _end_transaction(record: Record, producer: int, state: _State) -> None:
    held = state.pending.pop(producer, [])
    if record.key is not None and len(record.key) >= _MARKER.size and _MARKER.unpack_from(record.key)[1] == _COMMIT:
        for each in held:
            _apply(each, state)


def _apply(record: Record, state: _State) -> None:
    if record.key is None:
        return
    key = ByteReader(record.key)
    version = key.i16()
    if version in _OFFSET_KEYS:
        group, where = state.groups[key.string()], (key.string(), key.i32())
        if record.value is None:
            group.offsets.pop(where, None)
        else:
            group.offsets[where] = _commit_time(record.value)
    elif version in _GROUP_KEYS:
        group = state.groups[key.string()]
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


def _stored_groups(state: _State) -> tuple[StoredGroup, ...]:
    return tuple(
        StoredGroup(
            name=name,
            offsets=len(group.offsets),
            topics=tuple(sorted({topic for topic, _ in group.offsets})),
            last_commit=max((t for t in group.offsets.values() if t is not None), default=None),
            members=group.members,
        )
        for name, group in sorted(state.groups.items())
        if group.there
    )
