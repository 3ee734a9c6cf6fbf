"""Decoders of the responses to `requests`, one per request, from the bytes after the response header."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from kfix.adapters.kafka.codec import ByteReader, ProtocolError
from kfix.adapters.kafka.codes import NO_ANSWER, name_of
from kfix.adapters.kafka.metadata import MetadataResponse as MetadataResponse  # noqa: PLC0414 - one of the decoders
from kfix.adapters.kafka.metadata import metadata as metadata  # noqa: PLC0414
from kfix.model.cluster.snapshot import Assignment, Endpoint, TopicPartition

_DEFAULT = 5


_CONCURRENT_TRANSACTIONS = 51


@dataclass(frozen=True, slots=True)
class FoundCoordinator:
    error: int
    broker: int
    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    name: str
    error: int
    state: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    name: str
    error: int
    message: str
    values: dict[str, str]
    sources: dict[str, int]
    defaults: dict[str, str]


class PartitionOffset(NamedTuple):
    """An offset. `timestamp` (ms) and `leader_epoch` are those of the batch found by time, -1 for LATEST."""

    error: int
    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """`offset` is -1 if none is committed."""

    error: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Raw record batches of one partition, the last of which may be cut off; offsets are -1 after an error."""

    error: int
    high_watermark: int
    start: int
    batches: bytes


@dataclass(frozen=True, slots=True)
class PartitionResult:
    error: int
    message: str


def api_versions(r: ByteReader) -> dict[int, tuple[int, int]]:
    error = r.i16()
    if error:
        raise ProtocolError(f"ApiVersions returned error {error}")
    return dict(r.array(lambda: (r.i16(), (r.i16(), r.i16()))))


def find_coordinator(r: ByteReader) -> FoundCoordinator:
    r.i32()
    error = r.i16()
    r.nullable_string()
    return FoundCoordinator(error, r.i32(), Endpoint(r.string(), r.i32()))


def offset_fetch(r: ByteReader) -> tuple[int, int]:
    """Returns (error of the group, number of partitions with a committed offset)."""
    r.i32()
    committed = 0
    for _ in range(r.i32()):
        r.string()
        for _ in range(r.i32()):
            r.i32()
            committed += r.i64() >= 0
            r.i32()
            r.nullable_string()
            r.i16()
    return r.i16(), committed


def stable_offset_fetch(r: ByteReader) -> tuple[int, dict[TopicPartition, CommittedOffset]]:
    """Returns (error of the group, the named partitions)."""
    r.i32()
    found: dict[TopicPartition, CommittedOffset] = {}

    def topic() -> None:
        name = r.compact_string()

        def partition() -> None:
            index, offset, epoch, stored = r.i32(), r.i64(), r.i32(), r.compact_string()
            found[TopicPartition(name, index)] = CommittedOffset(r.i16(), offset, epoch, stored)
            r.tags()

        r.compact_array(partition)
        r.tags()

    r.compact_array(topic)
    return r.i16(), found


def fetch(r: ByteReader) -> FetchedRecords:
    """Returns the one partition that was requested."""
    r.i32()
    error = r.i16()
    r.i32()
    found: list[FetchedRecords] = []

    def partition() -> None:
        r.i32()
        code, high, _, start = r.i16(), r.i64(), r.i64(), r.i64()
        r.array(lambda: (r.i64(), r.i64()))
        r.i32()
        found.append(FetchedRecords(code, high, start, r.blob()))

    r.array(lambda: (r.string(), r.array(partition)))
    return FetchedRecords(error, -1, -1, b"") if error or not found else found[0]


def list_groups(r: ByteReader) -> tuple[int, list[tuple[str, str]]]:
    """Returns (error, [(group, protocol type)])."""
    r.i32()
    error = r.i16()
    return error, r.array(lambda: (r.string(), r.string()))


def describe_groups(r: ByteReader) -> list[DescribedGroup]:
    r.i32()

    def member() -> str:
        r.string()
        client, host = r.string(), r.string()
        r.blob()
        r.blob()
        return f"{client}{host}"

    def group() -> DescribedGroup:
        error, name, state = r.i16(), r.string(), r.string()
        r.string()
        r.string()
        return DescribedGroup(name, error, state, tuple(r.array(member)))

    return r.array(group)


def describe_configs(r: ByteReader) -> list[DescribedConfig]:
    """Returns configs without sensitive values, which the broker sends as null: they never enter a snapshot.

    `sources` has the source of every key: topic (1), broker (2), cluster-wide default (3), server.properties (4),
    default (5).
    `defaults` are the built-in defaults, if synonyms were requested.
    """
    r.i32()

    def value() -> tuple[str, str | None, int, str | None]:
        key, text = r.string(), r.nullable_string()
        r.boolean()
        source, sensitive = r.i8(), r.boolean()
        synonyms = r.array(lambda: (r.string(), r.nullable_string(), r.i8()))
        default = next((each for _, each, origin in synonyms if origin == _DEFAULT), None)
        return key, None if sensitive else text, source, None if sensitive else default

    def resource() -> DescribedConfig:
        error, message = r.i16(), r.nullable_string() or ""
        r.i8()
        name = r.string()
        found = r.array(value)
        values = {key: text for key, text, _, _ in found if text is not None}
        defaults = {key: default for key, _, _, default in found if default is not None}
        return DescribedConfig(name, error, message, values, {key: source for key, _, source, _ in found}, defaults)

    return r.array(resource)


#: partition, error, timestamp, offset, leader epoch: a snapshot with log ends has one per replica
_OFFSET_ROW = struct.Struct(">ihqqi")


def list_offsets(r: ByteReader) -> dict[TopicPartition, PartitionOffset]:
    r.i32()
    found: dict[TopicPartition, PartitionOffset] = {}
    for _ in range(r.i32()):
        topic, count = r.string(), r.i32()
        data, at, unpack, size = r.data, r.at, _OFFSET_ROW.unpack_from, _OFFSET_ROW.size
        try:
            for _ in range(count):
                index, error, timestamp, offset, epoch = unpack(data, at)
                at += size
                found[TopicPartition(topic, index)] = PartitionOffset(error, offset, timestamp, epoch)
        except struct.error:
            raise ProtocolError(
                "the response ends too early: not the requested version of the Kafka protocol"
            ) from None
        r.at = at
    return found


def epoch_ends(r: ByteReader) -> dict[TopicPartition, PartitionOffset]:
    """Returns the end offset of the requested epoch, or of the largest one below it, given by `leader_epoch`."""
    r.i32()
    found: dict[TopicPartition, PartitionOffset] = {}
    for _ in range(r.i32()):
        topic = r.string()
        for _ in range(r.i32()):
            error, index, epoch, end = r.i16(), r.i32(), r.i32(), r.i64()
            found[TopicPartition(topic, index)] = PartitionOffset(error, end, -1, epoch)
    return found


def list_reassignments(r: ByteReader) -> tuple[int, dict[TopicPartition, Assignment]]:
    r.i32()
    error = r.i16()
    r.compact_string()
    found: dict[TopicPartition, Assignment] = {}

    def ids() -> tuple[int, ...]:
        return tuple(r.compact_array(r.i32))

    def topic() -> None:
        name = r.compact_string()

        def partition() -> None:
            index = r.i32()
            found[TopicPartition(name, index)] = Assignment(ids(), ids(), ids())
            r.tags()

        r.compact_array(partition)
        r.tags()

    r.compact_array(topic)
    return error, found


def elect_leaders(r: ByteReader) -> PartitionResult:
    r.i32()
    error = r.i16()
    results = r.array(
        lambda: (r.string(), r.array(lambda: (r.i32(), PartitionResult(r.i16(), r.nullable_string() or ""))))
    )
    found = [result for _, partitions in results for _, result in partitions]
    return PartitionResult(error, "") if error or not found else found[0]


def alter_reassignment(r: ByteReader) -> PartitionResult:
    r.i32()
    error, message = r.i16(), r.compact_string()
    found: list[PartitionResult] = []

    def partition() -> None:
        r.i32()
        found.append(PartitionResult(r.i16(), r.compact_string()))
        r.tags()

    def topic() -> None:
        r.compact_string()
        r.compact_array(partition)
        r.tags()

    r.compact_array(topic)
    return PartitionResult(error, message) if error or not found else found[0]


def offset_commit(r: ByteReader) -> PartitionResult:
    """Returns as `_all_or_none`."""
    r.i32()
    return _all_or_none(r)


def offset_delete(r: ByteReader) -> PartitionResult:
    """Returns the error of the request, else as `_all_or_none`."""
    error = r.i16()
    r.i32()
    return PartitionResult(error, "") if error else _all_or_none(r)


def init_producer_id(r: ByteReader) -> PartitionResult:
    """Returns no error for CONCURRENT_TRANSACTIONS: the coordinator answers it when it has begun to abort.

    Source: `TransactionCoordinator.handleInitProducerId` of Kafka 2.7.1; seen on real brokers.
    """
    r.i32()
    error, _, _ = r.i16(), r.i64(), r.i16()
    r.tags()
    if error == _CONCURRENT_TRANSACTIONS:
        return PartitionResult(0, "the coordinator is ending the transaction")
    return PartitionResult(error, "")


def unregister_broker(r: ByteReader) -> PartitionResult:
    r.i32()
    error, message = r.i16(), r.compact_string()
    r.tags()
    return PartitionResult(error, message)


def produce(r: ByteReader) -> PartitionResult:
    def partition() -> int:
        r.i32()
        error = r.i16()
        r.i64(), r.i64(), r.i64()  # base offset, append time, log start offset
        return error

    topics = r.array(lambda: (r.string(), r.array(partition)))
    errors = [error for _, found in topics for error in found]
    return PartitionResult(errors[0], "") if len(errors) == 1 else PartitionResult(NO_ANSWER, "an empty response")


def _all_or_none(r: ByteReader) -> PartitionResult:
    """Returns the error of all partitions; -1 (unknown) if only some of them were changed."""
    topics = r.array(lambda: (r.string(), r.array(lambda: (r.i32(), r.i16()))))
    results = [(f"{topic}-{index}", error) for topic, partitions in topics for index, error in partitions]
    failed = [(tp, error) for tp, error in results if error]
    if not failed:
        return PartitionResult(0, "")
    tp, error = failed[0]
    if len(failed) < len(results):
        return PartitionResult(NO_ANSWER, f"{tp}: {name_of(error)}; accepted: {len(results) - len(failed)}")
    return PartitionResult(error, tp)


def sasl_handshake(r: ByteReader) -> tuple[int, list[str]]:
    return r.i16(), r.array(r.string)


def sasl_authenticate(r: ByteReader) -> tuple[int, str, bytes]:
    return r.i16(), r.nullable_string() or "", r.blob()
