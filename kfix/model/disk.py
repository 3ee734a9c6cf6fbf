"""What brokers' log directories hold, read from their disks: no broker is asked, no cluster is needed.

Offsets are Kafka's: a log end is the offset that the next record will get. Times are milliseconds since the epoch, UTC,
as record batches carry them; -1 in a batch (no timestamp) is None here. A field that was not read is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kfix.model.cluster.snapshot import TopicPartition


class Grade(StrEnum):
    """How much a remark about a file weighs.

    NOTE: usual after a crash or on a running broker. ODD: damaged, or not as Kafka leaves it. UNREAD: nothing is known
    of what is in it.
    """

    NOTE = "note"
    ODD = "odd"
    UNREAD = "unread"


class Oddity(NamedTuple):
    """A remark about one file; `at` is the byte in it where it begins, None where it is about the whole file."""

    file: str
    at: int | None
    what: str
    grade: Grade = Grade.ODD


class Epoch(NamedTuple):
    """From offset `start` on, records were appended under this leader epoch."""

    epoch: int
    start: int


@dataclass(frozen=True, slots=True)
class Replica:
    """One partition's folder on one disk.

    broker           id of `meta.properties`; None where that file is missing
    directory        the log directory it lies in; `folder` is its own path
    state            "" for a replica in service; delete, future or stray by the folder's suffix
    topic_id         of `partition.metadata` (2.8 and later), else ""
    log_start        of `log-start-offset-checkpoint`, else the base offset of the first segment
    log_end          behind the last whole batch
    high_watermark   of `replication-offset-checkpoint`: a lower bound, written every 5 s; None where it has no entry
    recovery_point   up to here was flushed to the disk; cleaned: up to here the log cleaner compacted
    written          epochs of the record batches; of skipped segments only what their first batches prove
    checkpoint       epochs of `leader-epoch-checkpoint`; None where there is no such file
    segments         how many, and how many of them were walked batch by batch
    size             bytes of all segments
    last_ms          largest timestamp of the walked batches
    """

    tp: TopicPartition
    broker: int | None
    directory: str
    folder: str
    state: str = ""
    topic_id: str = ""
    log_start: int = 0
    log_end: int = 0
    high_watermark: int | None = None
    recovery_point: int | None = None
    cleaned: int | None = None
    written: tuple[Epoch, ...] = ()
    checkpoint: tuple[Epoch, ...] | None = None
    segments: int = 0
    walked: int = 0
    size: int = 0
    last_ms: int | None = None

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return self.directory if self.broker is None else f"broker {self.broker}"

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """The epochs that count when replicas are compared: of the batches, and the newer ones of the checkpoint.

        A leader notes its epoch before it appends under it. Such an epoch without records is kept here from the log end
        on: it proves that this replica led, and what others hold beyond that offset is not of its log.
        """
        if not self.written:
            return tuple(e for e in self.checkpoint or () if e.start <= self.log_end)
        last = self.written[-1].epoch
        return self.written + tuple(e for e in self.checkpoint or () if e.epoch > last and e.start == self.log_end)

    @property
    def last_epoch(self) -> int:
        """-1 where there is none: an empty log, or record formats older than 0.11."""
        return self.epochs[-1].epoch if self.epochs else -1


@dataclass(frozen=True, slots=True)
class LogDir:
    """One entry of a broker's `log.dirs`.

    broker, cluster  of `meta.properties`; None and "" where it is missing
    clean            the broker was shut down cleanly and has not been started since
    """

    path: str
    broker: int | None
    cluster: str
    clean: bool
    replicas: tuple[Replica, ...]
    oddities: tuple[Oddity, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """Records from offset `start` to before `end`: how many, how large, from when to when.

    records counts control records (ends of transactions) too. None where the segments do not tell: old formats that are
    compressed, or more batches than were counted.
    """

    start: int
    end: int
    records: int | None
    size: int
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A consumer group in a replica of `__consumer_offsets`.

    offsets      partitions it has committed offsets for; topics: their topics
    last_commit  milliseconds, None where it has no offsets
    members      as last stored; None where no group metadata was found, or in a form that is not read
    """

    name: str
    offsets: int
    topics: tuple[str, ...]
    last_commit: int | None
    members: int | None


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """The groups of one replica, by name. `complete` is False where batches could not be read: others may be there."""

    replica: Replica
    groups: tuple[StoredGroup, ...]
    complete: bool
