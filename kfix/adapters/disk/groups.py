"""The consumer groups in a replica of `__consumer_offsets`, from its records.

Source: `OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataKey`, `GroupMetadataValue` (JSON schemas of Kafka 2.7.1
and 3.9). A key begins with its version: 0 and 1 a committed offset, 2 a group's metadata; 3 the metadata of a group of
the newer protocol (KIP-848). A record without a value takes its key away. Offsets committed in a transaction count when
its end marker does.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from kfix.adapters.disk.batches import Batch
from kfix.adapters.disk.opening import DiskFile, NotReadError
from kfix.adapters.disk.records import Record, UnreadBatchError, records
from kfix.adapters.disk.segments import Tell, batches_from, segments_in
from kfix.adapters.kafka.codec import ByteReader, ProtocolError
from kfix.model.disk import Grade, Oddity, Replica, StoredGroup, StoredGroups

_OFFSET_KEYS = (0, 1)
_GROUP_KEYS = (2, 3)
_MARKER = struct.Struct(">hh")
_COMMIT = 1
_MOST_TOLD = 5

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


def read_groups(replica: Replica, folder: Path, tell: Tell) -> StoredGroups:
    """Of all records below its log end; `tell` hears what could not be read."""
    state, unread = _State(), 0

    def untold(oddity: Oddity) -> None:
        nonlocal unread
        unread += 1
        if unread <= _MOST_TOLD:
            tell(oddity)

    try:
        segments = segments_in(folder)
    except NotReadError as error:
        segments = []
        untold(error.oddity)
    for file, batch in batches_from(segments, 0, lambda odd: untold(odd._replace(grade=Grade.UNREAD))):
        _read_batch(file, batch, state, untold)
    if unread > _MOST_TOLD:
        tell(
            Oddity(replica.folder, None, f"{unread - _MOST_TOLD} more batches whose groups are not told", Grade.UNREAD)
        )
    return StoredGroups(replica, _told(state), complete=not unread)


def _read_batch(file: DiskFile, batch: Batch, state: _State, tell: Tell) -> None:
    try:
        for record in records(file, batch):
            if batch.control:
                _end_transaction(record, batch.producer, state)
            elif batch.transactional:
                state.pending[batch.producer].append(record)
            else:
                _apply(record, state)
    except (UnreadBatchError, ProtocolError) as error:
        why = str(error) if isinstance(error, UnreadBatchError) else "holds a record that is no group's"
        what = f"the batch of the offsets {batch.base} to {batch.last} {why}"
        tell(Oddity(file.name, batch.at, what, Grade.UNREAD))


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
    """Milliseconds; None in versions that are not known."""
    read = ByteReader(value)
    version = read.i16()
    if not 0 <= version <= 4:
        return None
    read.i64()  # the offset
    if version >= 3:
        read.i32()  # its leader epoch
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
    text()  # the protocol's type
    read.i32()  # the generation
    text()  # the protocol
    text()  # the leader
    if version >= 2:
        read.i64()  # since when it is in its state
    return max(0, read.uvarint() - 1 if version >= 4 else read.i32())


def _told(state: _State) -> tuple[StoredGroup, ...]:
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
