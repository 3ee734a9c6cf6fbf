"""The requests about transactions at the leaders of the partitions that they wrote to (KIP-664), as in `requests`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import ProtocolError, Rows
from kfix.core.kafka.codes import CLUSTER, TOPIC
from kfix.core.kafka.requests import PartitionResult, by_partition, by_topic
from kfix.core.snapshot.snapshot import TopicPartition

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
