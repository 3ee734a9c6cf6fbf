"""Transactions: requests to the leaders they wrote to (KIP-664), and the records of `__transaction_state`."""

from collections.abc import Iterable
from typing import NamedTuple

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import ByteReader, ProtocolError, Rows, versioned
from kfix.core.kafka.codes import CLUSTER, TOPIC
from kfix.core.kafka.records import Record
from kfix.core.kafka.requests import PartitionResult, by_partition, by_topic
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import TransactionState

# The requests about transactions at the leaders of the partitions that they wrote to (KIP-664), as in `requests`.

#: The first version of WriteTxnMarkers that Kafka 4 accepts (KIP-896); brokers before 2.8 only have version 0.
NEWER_MARKERS = 1


class ProducerState(NamedTuple):
    """A producer of a partition, by the leader. `start` is the offset at which its open transaction begins, or -1.

    `last_ms` is the time of its last record, and `coordinator_epoch` that of the last marker, -1 if there was none.
    """

    producer: int
    epoch: int
    last_ms: int
    coordinator_epoch: int
    start: int


class DescribedProducers(NamedTuple):
    error: int
    producers: tuple[ProducerState, ...]


DESCRIBE_PRODUCERS = Api(
    61,
    "topics:[name:str partitions:i32s]",
    "_throttle_ms:i32 topics:[name:str partitions:[index:i32 error:i16 _message:str producers:[id:i64 epoch:i32"
    " _sequence:i32 last_ms:i64 coordinator_epoch:i32 start:i64]]]",
    reads=True,
    flexible=0,
    operations={TOPIC: "Read"},
)


def describe_producers(tps: Iterable[TopicPartition]) -> Request[dict[TopicPartition, DescribedProducers]]:
    """Requests the producers of partitions from their leader (Kafka 3.0)."""

    def convert(topics: Rows) -> dict[TopicPartition, DescribedProducers]:
        return by_partition(
            topics, lambda error, rows: DescribedProducers(error, tuple(ProducerState(*row) for row in rows))
        )

    return DESCRIBE_PRODUCERS.ask(0, (list(by_topic(tps).items()),), convert)


WRITE_TXN_MARKERS = Api(
    27,
    "markers:[producer:i64 epoch:i16 commit:bool topics:[name:str partitions:i32s] coordinator_epoch:i32]",
    "markers:[producer:i64 topics:[name:str partitions:[index:i32 error:i16]]]",
    flexible=1,
    operations={CLUSTER: "ClusterAction"},
)


class Marker(NamedTuple):
    """The end of a transaction in one partition, as a coordinator sends it to the leader."""

    tp: TopicPartition
    producer: int
    epoch: int
    commit: bool
    coordinator_epoch: int


def write_marker(marker: Marker, *, newer: bool) -> Request[PartitionResult]:
    """Ends a transaction in one partition. Error 0 proves nothing: a wrong producer id gets it, too.

    `newer`: the leader supports version `NEWER_MARKERS`.
    """

    def convert(markers: Rows) -> PartitionResult:
        errors = [error for _, topics in markers for _, partitions in topics for _, error in partitions]
        if len(errors) != 1:
            raise ProtocolError(f"WriteTxnMarkers returned {len(errors)} partitions for one")
        return PartitionResult(errors[0], str(marker.tp) if errors[0] else "")

    topics = [(marker.tp.topic, (marker.tp.partition,))]
    row = (marker.producer, marker.epoch, marker.commit, topics, marker.coordinator_epoch)
    return WRITE_TXN_MARKERS.ask(NEWER_MARKERS if newer else 0, ([row],), convert)


# The states of transactional ids in the records of `__transaction_state`.
#
# Source: `TransactionLogKey`, `TransactionLogValue` (JSON schemas of Kafka 2.7.1 and 4.0). A key is its version, 0, and
# the transactional.id. Version 1 of a value has the flexible encoding of the same fields and is written with
# transaction.version 2 (KIP-890). A record without a value deletes its key.

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
