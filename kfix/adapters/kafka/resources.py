"""Decoders of responses about broker resources: log directories and changed configs."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.adapters.kafka.codec import ByteReader
from kfix.adapters.kafka.responses import PartitionResult
from kfix.model.cluster.snapshot import TopicPartition


@dataclass(frozen=True, slots=True)
class LogDirUsage:
    """One log directory. Sizes and `usable` are in bytes; `usable` is None where the broker does not report it."""

    path: str
    error: int
    sizes: dict[TopicPartition, int]
    usable: int | None = None


def log_dirs(r: ByteReader) -> tuple[int, list[LogDirUsage]]:
    """Returns (error, directories) of version 1, which has no error for the whole response, so it is 0."""
    r.i32()

    def directory() -> LogDirUsage:
        error, path = r.i16(), r.string()
        sizes: dict[TopicPartition, int] = {}

        def topic() -> None:
            name = r.string()
            r.array(lambda: _partition(r, name, sizes))

        r.array(topic)
        return LogDirUsage(path, error, sizes)

    return 0, r.array(directory)


def log_dirs_with_room(r: ByteReader) -> tuple[int, list[LogDirUsage]]:
    """Returns (error, directories) of version 4 (Kafka 3.3 and later)."""
    r.i32()
    error = r.i16()

    def directory() -> LogDirUsage:
        bad, path = r.i16(), r.compact_string()
        sizes: dict[TopicPartition, int] = {}

        def topic() -> None:
            name = r.compact_string()

            def partition() -> None:
                _partition(r, name, sizes)
                r.tags()

            r.compact_array(partition)
            r.tags()

        r.compact_array(topic)
        r.i64()
        usable = r.i64()
        r.tags()
        return LogDirUsage(path, bad, sizes, usable if usable >= 0 else None)

    return error, r.compact_array(directory)


def _partition(r: ByteReader, topic: str, into: dict[TopicPartition, int]) -> None:
    """Adds the size of a replica. A future log (AlterReplicaLogDirs in progress) also takes space, so both count."""
    index, size = r.i32(), r.i64()
    r.i64()
    r.boolean()
    tp = TopicPartition(topic, index)
    into[tp] = into.get(tp, 0) + size


def altered_configs(r: ByteReader) -> PartitionResult:
    """Returns the result for the one resource in the request."""
    r.i32()

    def resource() -> PartitionResult:
        read = PartitionResult(r.i16(), r.nullable_string() or "")
        r.i8()
        r.string()
        return read

    return next(iter(r.array(resource)), PartitionResult(-1, "the response of the broker lacks the resource"))
