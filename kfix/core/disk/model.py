"""The content of broker log directories, read from disk: no broker and no cluster is needed.

Offsets are as in Kafka: the log end offset is that of the next record. Times are milliseconds since the epoch, UTC,
from the record batches; -1 in a batch (no timestamp) is None here. A field that was not read is None, never 0.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple

from kfix.core.snapshot.snapshot import TopicPartition


class Grade(StrEnum):
    """The weight of a remark about a file.

    NOTE: normal after a crash or on a running broker. ODD: damaged, or not as Kafka leaves it. UNREAD: not read, so its
    content is unknown.
    """

    NOTE = "note"
    ODD = "odd"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Oddity:
    """A remark about one file; `at` is the byte position, None where it is about the whole file."""

    file: str
    at: Annotated[int | None, "byte; null: about the whole file"]
    what: str
    grade: Grade = Grade.ODD


class Epoch(NamedTuple):
    """A leader epoch and the first offset that was appended under it."""

    epoch: int
    start: int


@dataclass(frozen=True, slots=True)
class Replica:
    """The folder of one partition on one disk; `kfix inspect log-dir --json` has the same fields (docs/json.md).

    `written` are the epochs of the record batches; of skipped segments only those of their first batches. `size` is in
    bytes.
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
        """The name of the replica in a sentence."""
        return self.directory if self.broker is None else f"broker {self.broker}"

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """The epochs used to compare replicas: those of the batches, and newer ones of the checkpoint.

        A leader writes its epoch to the checkpoint before it appends records. Such an epoch without records starts at
        the log end: it proves that this replica was leader, so records of others beyond that offset are not of its log.
        """
        if not self.written:
            return tuple(e for e in self.checkpoint or () if e.start <= self.log_end)
        last = self.written[-1].epoch
        return self.written + tuple(e for e in self.checkpoint or () if e.epoch > last and e.start == self.log_end)

    @property
    def last_epoch(self) -> int:
        """The last leader epoch, or -1 for an empty log or record formats older than 0.11."""
        return self.epochs[-1].epoch if self.epochs else -1


@dataclass(frozen=True, slots=True)
class LogDir:
    """One entry of a broker's `log.dirs`.

    broker, cluster  of `meta.properties`; None and "" if it is missing
    clean            whether the broker was shut down cleanly and has not been started since
    """

    path: str
    broker: int | None
    cluster: str
    clean: bool
    replicas: tuple[Replica, ...]
    oddities: tuple[Oddity, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """Records from offset `start` up to, not including, `end`: number, bytes, first and last timestamp (ms).

    `records` includes control records (transaction markers). It is None if unknown: old compressed formats, or more
    batches than are counted.
    """

    start: int
    end: int
    records: int | None
    size: int
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A consumer group in a replica of `__consumer_offsets`."""

    name: str
    offsets: Annotated[int, "partitions it has committed offsets for"]
    topics: Annotated[tuple[str, ...], "their topics"]
    last_commit_ms: Annotated[int | None, "null where it has no offsets"]
    members: Annotated[int | None, "as last stored; null where no group metadata was found, or of another version"]
    type: Annotated[str, 'classic, consumer, share or streams; "" where no group metadata was found'] = ""


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """The groups of one replica, by name.

    `complete` is False if batches could not be read, so groups may be missing.
    """

    replica: Replica
    groups: tuple[StoredGroup, ...]
    complete: bool
