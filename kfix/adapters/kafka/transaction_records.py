"""The states of transactional ids in the records of `__transaction_state`.

Source: `TransactionLogKey`, `TransactionLogValue` (JSON schemas of Kafka 2.7.1 and 4.0). A key is its version, 0, and
the transactional.id. Version 1 of a value has the flexible encoding of the same fields and is written with
transaction.version 2 (KIP-890). A record without a value deletes its key.
"""

from __future__ import annotations

from kfix.adapters.kafka.codec import ByteReader
from kfix.adapters.kafka.records import Record
from kfix.model.cluster.transactions import TransactionState

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


def _partitions(r: ByteReader) -> None:
    """Reads past the partitions of one topic."""
    r.compact_string()
    r.compact_array(r.i32)
    r.tags()


def transaction_state(record: Record) -> tuple[str, TransactionState | None] | None:
    """Returns (transactional.id, its state); None for the state of a deleted id, and for a record of another version.

    Raises ProtocolError for a record that is cut off.
    """
    if record.key is None:
        return None
    key = ByteReader(record.key)
    if key.i16() != 0:
        return None
    name = key.string()
    if record.value is None:
        return name, None
    r = ByteReader(record.value)
    version = r.i16()
    if version not in (0, 1):
        return None
    producer, epoch, timeout, status = r.i64(), r.i16(), r.i32(), r.i8()
    if version == 0:
        r.array(lambda: (r.string(), r.array(r.i32)))
    else:
        r.compact_array(lambda: _partitions(r))
    r.i64()  # time of the last update
    word = _STATUS[status] if 0 <= status < len(_STATUS) else f"status {status}"
    return name, TransactionState(name, producer, epoch, timeout, word, r.i64())
