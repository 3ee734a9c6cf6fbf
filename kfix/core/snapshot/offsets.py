"""Committed offsets of consumer groups: at present, and as read from the log of their partition."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from kfix.core.snapshot.snapshot import TopicPartition


class StoredOffset(NamedTuple):
    """A committed offset with what the consumer stored beside it. `leader_epoch` is -1 if none was stored."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""

    @property
    def text(self) -> str:
        """Returns `5`, or `5@3` with the leader epoch, or `5@3 METADATA`; `parse_stored` reads it back."""
        epoch = f"@{self.leader_epoch}" if self.leader_epoch >= 0 else ""
        return f"{self.offset}{epoch}" + (f" {self.metadata}" if self.metadata else "")


_TEXT = re.compile(r"([0-9]{1,19})(?:@([0-9]{1,10}))?(?: (.+))?", re.DOTALL)


def parse_stored(text: str) -> StoredOffset:
    """Returns the offset of a text. Raises ValueError if `StoredOffset.text` did not write it."""
    match = _TEXT.fullmatch(text)
    found = None if match is None else StoredOffset(int(match[1]), int(match[2] or -1), match[3] or "")
    if found is None or found.text != text or found.offset >= 2**63 or found.leader_epoch >= 2**31:
        raise ValueError(f"{text[:60]!r} is not a committed offset")
    return found


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """A consumer group as its coordinator answers now.

    `state` is Kafka's: Empty, Dead, Stable, ... `committed` has None for a partition without a committed offset.
    `unstable` are partitions whose offset an open transaction holds.
    """

    group: str
    state: str
    committed: Mapping[TopicPartition, StoredOffset | None]
    unstable: tuple[TopicPartition, ...] = ()

    @property
    def has_members(self) -> bool:
        return self.state not in {"Empty", "Dead"}


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """One record of a partition, its bytes as they are in the log.

    - leader_epoch: of its batch, -1 if unknown
    - timestamp_ms: milliseconds since the epoch; appended: the broker set it, and not the producer
    - headers: (key, value), in their order
    """

    tp: TopicPartition
    offset: int
    leader_epoch: int
    timestamp_ms: int
    appended: bool
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()

    @property
    def sha256(self) -> str:
        """Returns the hash of its place, its time and its bytes; compaction may give its batch another form."""
        content = (str(self.tp), self.offset, self.timestamp_ms, self.key, self.value, self.headers)
        return sha256(repr(content).encode()).hexdigest()


class LoggedOffset(NamedTuple):
    """A committed offset as the log holds it. `committed_ms` is the commit time, in milliseconds since the epoch."""

    stored: StoredOffset
    committed_ms: int


@dataclass(frozen=True, slots=True)
class SavedSource:
    """The source of one offsets partition's offsets, and whether that was everything.

    - kind: leader, replica, or log directory
    - name: `broker 2`, or the path of the replica's folder
    - start: log start offset; end: the records before this offset were read; log_end: log end offset there
    - missing: sentences about unread records; empty if every record was read
    - pending: groups whose newest offsets belong to a transaction that has not ended: these offsets are not saved
    """

    partition: int
    kind: str
    name: str
    start: int
    end: int
    log_end: int
    missing: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True)
class SavedGroup:
    """The committed offsets of one group. `partition` is its partition of `__consumer_offsets`."""

    name: str
    partition: int
    offsets: Mapping[TopicPartition, LoggedOffset]


@dataclass(frozen=True, slots=True)
class SavedOffsets:
    """A file of saved offsets. `saved_at` is in seconds since the epoch, `cluster` the cluster id ("" if unknown).

    `not_saved` has a sentence for each partition that was not read and each wanted group without an offset.
    """

    saved_at: float
    kfix: str
    cluster: str
    sources: tuple[SavedSource, ...]
    groups: tuple[SavedGroup, ...]
    not_saved: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return all(source.complete for source in self.sources) and not self.not_saved


@dataclass(frozen=True, slots=True)
class Rescued:
    """`tried` names replicas that were read before and served less."""

    saved: SavedOffsets
    tried: tuple[str, ...] = ()
