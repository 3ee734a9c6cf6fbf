"""The consumer groups in records of `__consumer_offsets`, and their committed offsets.

Source: `OffsetCommitKey`, `OffsetCommitValue`, `GroupMetadataKey`, `GroupMetadataValue` (JSON schemas of Kafka 2.7.1
and 3.9; `CoordinatorRecordType` of 4.3.1). A key begins with its type: 0 and 1 for a committed offset, 2 for group
metadata; groups of the consumer protocol (KIP-848), share groups and streams groups have one for the group and one for
each member. A record without a value deletes its key. Offsets committed in a transaction count from its commit marker
on.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kfix.core.kafka.batches import Batch
from kfix.core.kafka.codec import ByteReader, ProtocolError, decoder, versioned
from kfix.core.kafka.records import Record
from kfix.core.snapshot.group_reading import CLASSIC_GROUP, CONSUMER_GROUP, SHARE_GROUP, STREAMS_GROUP
from kfix.core.snapshot.load_conflicts import KeyLeft, LoadConflict
from kfix.core.snapshot.offsets import LoggedOffset, StoredOffset

_OFFSET_KEYS = (0, 1)
_CLASSIC_KEY = 2
#: {type of a key: type of the group} of a group's records, and of its members' records.
_GROUP_KEYS = {_CLASSIC_KEY: CLASSIC_GROUP, 3: CONSUMER_GROUP, 11: SHARE_GROUP, 17: STREAMS_GROUP}
_MEMBER_KEYS = {5: CONSUMER_GROUP, 10: SHARE_GROUP, 19: STREAMS_GROUP}
_MARKER = struct.Struct(">hh")
_COMMIT = 1
MOST_MEMBERS = 200
#: The newest version of the values of a committed offset and of a classic group, the only one that is flexible.
NEWEST = 4
OFFSET_KEY = "type:i16 group:str topic:str partition:i32"
OFFSET_VALUE = "offset:i64 leader_epoch:i32=-1@3 metadata:str committed_ms:i64"
#: A classic group, up to its members, and one of them.
_GROUP = "_protocol_type:str generation:i32 _protocol:str _leader:str _changed_ms:i64@2"
_MEMBER = (
    "id:str _instance:str@3 _client:str _host:str _rebalance_ms:i32@1 _session_ms:i32 _subscription:blob"
    " _assignment:blob"
)

#: Topic and partition of a committed offset.
Where = tuple[str, int]


@dataclass(slots=True)
class RecordedGroup:
    """A group after its records; None is an offset whose record has a version that kfix does not know."""

    offsets: dict[Where, LoggedOffset | None] = field(default_factory=dict)
    stored: bool = False
    members: int | None = None
    #: The ids of the members of its last generation, at most `MOST_MEMBERS`; none if they are unknown.
    member_ids: tuple[str, ...] = ()
    #: The number of that generation; None if it is unknown.
    generation: int | None = None
    #: Kafka's type of the group, "" if it has committed offsets only.
    type: str = ""
    #: The ids of the members with their own record, which members of a classic group do not have.
    joined: set[str] = field(default_factory=set)

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
    """The state after the records added so far; `open` are transactions without an end, by producer id."""

    groups: defaultdict[str, RecordedGroup] = field(default_factory=lambda: defaultdict(RecordedGroup))
    open: dict[int, RecordedTransaction] = field(default_factory=dict)

    def add(self, batch: Batch, records: Iterable[Record]) -> None:
        """Adds the records of one batch, in the order of the log.

        Raises ProtocolError for a record that does not belong to a group, and the errors of `records`.
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
                group.offsets[where] = _logged_offset(record.value)
        elif version in _GROUP_KEYS:
            self._apply_group(self.groups[key.string()], _GROUP_KEYS[version], record.value)
        elif version in _MEMBER_KEYS:
            group = self.groups[key.string()]
            (group.joined.discard if record.value is None else group.joined.add)(key.string())
            if group.type == _MEMBER_KEYS[version]:
                group.members = len(group.joined)

    def _apply_group(self, group: RecordedGroup, kind: str, value: bytes | None) -> None:
        if value is None and group.type not in {"", kind}:
            return  # The group now has another type.
        group.stored = value is not None
        group.type = "" if value is None else kind
        group.members = None if value is None or kind == CLASSIC_GROUP else len(group.joined)
        group.member_ids, group.generation = (), None
        if value is not None and kind == CLASSIC_GROUP:
            _apply_classic(group, value)


def _apply_classic(group: RecordedGroup, value: bytes) -> None:
    r = ByteReader(value)
    version = r.i16()
    if 0 <= version <= NEWEST:
        [group.generation] = decoder(_GROUP, version, flexible=version >= NEWEST).read(r)
        group.members = max(0, r.compact() if version >= NEWEST else r.i32())
        group.member_ids = _member_ids(r, version, group.members)


def _logged_offset(value: bytes) -> LoggedOffset | None:
    """Returns the committed offset, or None for unknown versions."""
    found = versioned(OFFSET_VALUE, value, newest=NEWEST, flexible=NEWEST)
    return None if found is None else LoggedOffset(StoredOffset(*found[:3]), found[3])


def _member_ids(members: ByteReader, version: int, count: int) -> tuple[str, ...]:
    """Returns the ids of the members; the flexible version 4 is not read."""
    one = decoder(_MEMBER, version)
    try:
        return tuple(one.read(members)[0] for _ in range(min(count, MOST_MEMBERS) if version < NEWEST else 0))
    except ProtocolError:
        return ()


# Which records of `__consumer_offsets` the coordinator of Kafka 4 cannot load, and the offsets in the log.
#
# Source: `GroupMetadataManager.replay` of Kafka 4.x: a record of the consumer protocol, even one without a value,
# raises an exception while the group is a classic one. Only a classic group without a protocol type is replaced: it
# exists only to hold committed offsets. Tried on 4.3.1 (docs/facts/consumer-groups.md). Whether every other record
# loads is not known.

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
