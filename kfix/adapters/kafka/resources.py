"""Decoders of the answers about what a broker keeps: its log directories, and settings that were changed."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.adapters.kafka.codec import ByteReader
from kfix.adapters.kafka.responses import PartitionResult
from kfix.model.cluster.snapshot import TopicPartition


@dataclass(frozen=True, slots=True)
class LogDirUsage:
    """One directory of a broker. Sizes and `usable` in bytes; `usable` is None where the broker does not know it."""

    path: str
    error: int
    sizes: dict[TopicPartition, int]
    usable: int | None = None


def log_dirs(r: ByteReader) -> tuple[int, list[LogDirUsage]]:
    """(error of the whole answer, directories) of version 1, where there is no error of the whole."""
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
    """The same of version 4 (Kafka 3.3 and newer)."""
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
    """A future log (AlterReplicaLogDirs under way) takes room beside the current one: both count."""
    index, size = r.i32(), r.i64()
    r.i64()
    r.boolean()
    tp = TopicPartition(topic, index)
    into[tp] = into.get(tp, 0) + size


def altered_configs(r: ByteReader) -> PartitionResult:
    """One resource is asked for at a time; its own error is the answer's."""
    r.i32()

    def resource() -> PartitionResult:
        said = PartitionResult(r.i16(), r.nullable_string() or "")
        r.i8()
        r.string()
        return said

    return next(iter(r.array(resource)), PartitionResult(-1, "the broker answered for no resource"))
