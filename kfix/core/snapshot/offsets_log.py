"""The log of an offsets partition, as a replica serves it to a consumer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kfix.core.declared import Int32
from kfix.core.snapshot.naming import TopicPartition


class OpenTransaction(NamedTuple):
    """A transaction with offsets of groups that has not ended. `since_ms` is the time of its first record."""

    producer: int
    since_ms: int
    groups: tuple[str, ...]


class LoggedGroup(NamedTuple):
    """A group in the log of its offsets partition, and the offsets that its coordinator then served.

    `offsets` is the number of partitions with a committed offset in the log. `unserved` are the ones for which
    OffsetFetch returned no offset, `pending` the partitions that it refused with UNSTABLE_OFFSET_COMMIT. None: the
    coordinator was not asked, or did not answer. `members` are the ids of the last generation in the log.
    """

    name: str
    offsets: Int32
    unserved: tuple[TopicPartition, ...] | None = None
    pending: tuple[TopicPartition, ...] | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OffsetsLog:
    """Records of one offsets partition, as a replica serves them to a consumer: read only in case of doubt.

    `first` to `end` (exclusive) are the offsets that were read; the log begins at `start` and ends at `log_end`.
    `stable` is the last stable offset at the leader, -1 elsewhere. `withheld`: the log has records, and the leader
    returns no offset (OFFSET_NOT_AVAILABLE): as coordinator it serves none above its high watermark.
    """

    partition: Int32
    broker: Int32
    start: int
    log_end: int
    stable: int
    first: int
    end: int
    groups: tuple[LoggedGroup, ...] = ()
    transactions: tuple[OpenTransaction, ...] = ()
    error: str = ""
    withheld: bool = False

    @property
    def whole(self) -> bool:
        """Whether every record was read, so that no other group is stored in this partition."""
        return not self.error and self.first <= self.start and self.end >= self.log_end
