"""Open transactions: the batch at which a last stable offset stops, and the state of a transactional.id.

A partition names only the producer id of an open transaction; the log of `__transaction_state` has its transactional.id
(docs/facts/consumer-groups.md).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kfix.core.declared import Int16, Int32, Unstored
from kfix.core.snapshot.naming import TopicPartition

#: The only status in which a new producer with the transactional.id aborts the transaction.
ONGOING = "Ongoing"
#: The coordinator has decided, and writes the markers that end the transaction in each partition.
ENDING = frozenset({"PrepareCommit", "PrepareAbort", "PrepareEpochFence"})

#: In the error of a log of which a partition has no leader.
WITHOUT_LEADER = "no leader"

_YEAR_9999_MS = 253_370_764_800_000


class OpenBatch(NamedTuple):
    """The first batch of the oldest open transaction of a partition, which is at its last stable offset.

    `epoch` is the epoch of the producer id, `since_ms` the time of the first record by the producer's clock. With
    `error`, the batch was not read, and the other fields but `offset` are -1.
    """

    offset: int
    producer: int
    epoch: Int16
    since_ms: int
    error: str = ""


class TransactionState(NamedTuple):
    """The last record of a transactional.id in the log of `__transaction_state`.

    `started_ms` is the time by the coordinator's clock at which the transaction began, -1 if none has; `timeout_ms` is
    its transaction.timeout.ms. `status` is Kafka's word, such as Ongoing or CompleteAbort. `partitions` are those of
    the transaction, none once it is complete. `updated_ms` is when the coordinator wrote the record.
    """

    transactional_id: str
    producer: int
    epoch: Int16
    timeout_ms: Int32
    status: str
    started_ms: int
    partitions: tuple[TopicPartition, ...] = ()
    updated_ms: int = -1

    @property
    def text(self) -> str:
        began = f", began {self.started_ms}" if self.started_ms >= 0 else ""
        return f"{self.status}, producer id {self.producer} epoch {self.epoch}{began}"

    @property
    def ends_by_ms(self) -> int | None:
        """The time after which the coordinator aborts the transaction; None if none is open, or it is no real time."""
        ends = self.started_ms + self.timeout_ms
        return ends if 0 <= self.started_ms <= ends < _YEAR_9999_MS else None


@dataclass(frozen=True, slots=True)
class TransactionLog:
    """The content of the log of `__transaction_state` about the producers of open transactions.

    `error` is why a producer may be missing from `found`; "" if every record since their transactions began was read.
    `records` are all records of these producers since then, those of a transactional.id in order, without those of a
    partition that was not read to its end: `unread` is whether there is one. `whole` are the producers of whose records
    none can be missing: compaction has removed none, and the partition had no other leader since.

    `held` are batches at last stable offsets that were there before this log was read, and are there after it, although
    no coordinator has their transaction open. `earlier` is the log in the first of two snapshots; no file stores it.
    """

    found: tuple[TransactionState, ...] = ()
    error: str = ""
    records: tuple[TransactionState, ...] = ()
    whole: frozenset[int] = frozenset()
    unread: bool = True
    held: Mapping[TopicPartition, OpenBatch] = field(default_factory=dict)
    earlier: Unstored[tuple[TransactionState, ...]] = ()

    def of(self, producer: int) -> TransactionState | None:
        return _of(producer, self.found)

    def began_another(self, producer: int) -> bool:
        """Returns whether the producer has begun another transaction since the first of two snapshots."""
        now, before = _of(producer, self.found), _of(producer, self.earlier)
        return now is not None and before is not None and -1 < before.started_ms < now.started_ms


def _of(producer: int, states: Iterable[TransactionState]) -> TransactionState | None:
    return next((each for each in states if each.producer == producer), None)
