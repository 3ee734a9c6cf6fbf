"""The states of transactional ids in the records of `__transaction_state`.

Source: `TransactionLogKey`, `TransactionLogValue` (JSON schemas of Kafka 2.7.1 and 4.0). A key is its version, 0, and
the transactional.id. Version 1 of a value has the flexible encoding of the same fields and is written with
transaction.version 2 (KIP-890). A record without a value deletes its key.
"""

from __future__ import annotations

from kfix.core.kafka.codec import ByteReader, versioned
from kfix.core.kafka.records import Record
from kfix.core.snapshot.naming import TopicPartition
from kfix.core.snapshot.transactions import TransactionState

_VALUE = (
    "producer:i64 epoch:i16 timeout_ms:i32 status:i8 partitions:[topic:str indexes:i32s] updated_ms:i64 started_ms:i64"
)
_STATUS = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


def transaction_state(record: Record) -> tuple[str, TransactionState | None] | None:
    """Returns (transactional.id, its state); the state is None for a deleted id; None for a record of another version.

    Raises ProtocolError for a truncated record.
    """
    if record.key is None:
        return None
    key = ByteReader(record.key)
    if key.i16() != 0:
        return None
    name = key.string()
    if record.value is None:
        return name, None
    found = versioned(_VALUE, record.value, newest=1, flexible=1)
    if found is None:
        return None
    producer, epoch, timeout, status, topics, updated, since = found
    tps = tuple(TopicPartition(topic, index) for topic, indexes in topics for index in indexes)
    word = _STATUS[status] if 0 <= status < len(_STATUS) else f"status {status}"
    return name, TransactionState(name, producer, epoch, timeout, word, since, tps, updated)
