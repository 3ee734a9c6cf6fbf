"""What brokers answer about the logs of replicas, and about coordinators and their logs."""

from dataclasses import dataclass
from typing import NamedTuple

from kfix.core.declared import Int16, Int32
from kfix.core.snapshot.naming import TopicPartition


class LogEnd(NamedTuple):
    """The log of one replica, by ListOffsets with replica id -2: works without a leader (docs/facts/data-loss.md)."""

    start: int
    end: int
    error: str = ""


class EpochEnd(NamedTuple):
    """The end of an older epoch, from today's leader (OffsetForLeaderEpoch): records beyond it differ.

    `epoch` is the requested one, `end` the first offset after it; -1 with `error` if it is unknown. A snapshot from a
    vantage requests the epoch before the leader's own and keeps the epoch that the answer names.
    """

    leader: Int32
    epoch: Int32
    end: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class CoordinatorProbe:
    """FindCoordinator sent to a live broker, then OffsetFetch sent to the coordinator it names.

    `find_error`/`fetch_error` are Kafka's codes (0 no error, 14 loading, 15 not available, 16 not coordinator); None if
    the request was not sent; -1 if no answer came, with the reason in `error`. `made_up`: kfix made the name of the
    group up, because only its coordinator was of interest.
    """

    group: str
    partition: Int32
    find_error: Int16 | None
    coordinator: Int32 | None
    fetch_error: Int16 | None
    committed: int | None = None
    error: str = ""
    seconds: float = 0.0
    made_up: bool = False

    @property
    def answers(self) -> bool:
        return self.find_error == 0 and self.fetch_error == 0

    @property
    def asked_for(self) -> str:
        return "a group that does not exist" if self.made_up else f"group {self.group}"


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


class OffsetsLogSize(NamedTuple):
    """One replica of an offsets partition. `size` is in bytes, by DescribeLogDirs of its broker; -1 if it was not read.

    `records` and `keys` are the numbers of records and of distinct keys in a piece of the log, -1 if none was read:
    only the leader's large logs are. `last_ms` is the time of the last of these records, and `behind` are the bytes
    from the first of them to the end of the log, if it is not compacted there. `error` is why the leader's size, or the
    piece of its large log, was not read; "" otherwise.
    """

    partition: Int32
    broker: Int32
    size: int
    records: int = -1
    keys: int = -1
    last_ms: int = -1
    behind: int = -1
    error: str = ""
