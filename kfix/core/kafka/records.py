"""Reads the records of a batch, decompressed within bounds.

Source: `DefaultRecord` of Kafka 2.7.1. A record: length varint, attributes i8, timestamp delta varlong, offset delta
varint, key (varint length, -1 is null), value (the same), headers. All records after the batch header are
compressed together.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import google_crc32c

from kfix.core.kafka.batches import HEADER, Batch

# A batch of one record: without a value it deletes its key from a compacted topic, or it is a control record.
#
# Source: `DefaultRecordBatch` and `DefaultRecord` of Kafka 2.7.1; the layout is in `kfix.core.kafka.batches`.

_MAGIC = 2
_NONE = -1
_CONTROL = 0x20
#: From the attributes on, which the CRC covers: attributes, last offset delta, first and last time, producer id and
#: epoch, base sequence, number of records.
_COVERED = struct.Struct(">hiqqqhii")
_HEAD = struct.Struct(">qiibI")
#: partitionLeaderEpoch, magic and crc, which `length` counts as well.
_BEFORE = 9


def tombstone(key: bytes, now_ms: int) -> bytes:
    """Returns the batch as Produce carries it; the broker assigns the offset."""
    return _one_record(key, _to_varint(_NONE), 0, 0, _NONE, now_ms)


def control_batch(key: bytes, value: bytes, offset: int, epoch: int, now_ms: int) -> bytes:
    """Returns a control batch as the leader of this epoch writes it to its log."""
    return _one_record(key, _to_varint(len(value)) + value, _CONTROL, offset, epoch, now_ms)


def _one_record(key: bytes, value: bytes, kind: int, offset: int, epoch: int, now_ms: int) -> bytes:
    """`value` begins with its length."""
    # attributes, time delta, offset delta, key, value, no headers
    record = b"\0\0\0" + _to_varint(len(key)) + key + value + _to_varint(0)
    covered = _COVERED.pack(kind, 0, now_ms, now_ms, _NONE, _NONE, _NONE, 1) + _to_varint(len(record)) + record
    crc = int(google_crc32c.value(covered))
    return _HEAD.pack(offset, _BEFORE + len(covered), epoch, _MAGIC, crc) + covered


def _to_varint(value: int) -> bytes:
    """Returns a zigzag varint."""
    left, out = (value << 1) ^ (value >> 31), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


#: Largest batch, compressed or not. The default limit of brokers is 1 MB.
MOST_BYTES = 64 << 20
_XERIAL = b"\x82SNAPPY\x00"


class UnreadBatchError(Exception):
    """The records of a batch cannot be read; later batches may be readable."""


class Record(NamedTuple):
    """`delta` is the distance of its offset from the first offset of the batch."""

    key: bytes | None
    value: bytes | None
    delta: int = 0


def require_readable(batch: Batch) -> None:
    """Raises UnreadBatchError for a batch that is too old or too large to be read."""
    if batch.magic < 2:
        raise UnreadBatchError("has a record format older than Kafka 0.11: not read")
    if batch.size > MOST_BYTES:
        raise UnreadBatchError(f"has {batch.size} bytes, too large for a batch: not read")


def records(batch: Batch, raw: bytes) -> Iterator[Record]:
    """Yields the records of a batch from the bytes after its header.

    Raises UnreadBatchError, possibly after some records.
    """
    return map(_record, _encoded(batch, raw))


def _encoded(batch: Batch, raw: bytes) -> Iterator[bytes]:
    data = raw if batch.codec == "none" else unpacked(batch.codec, raw)
    at = 0
    for _ in range(batch.records or 0):
        length, begin = _varint(data, at)
        at = begin + length
        if length < 0 or at > len(data):
            raise UnreadBatchError("has a record that is longer than the batch")
        yield data[begin:at]


class WholeRecord(NamedTuple):
    """A record with its headers. `time_delta` is the distance of its time from the first time of the batch."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]
    time_delta: int


def whole_record(batch: Batch, raw: bytes, offset: int) -> WholeRecord | None:
    """Returns the record at this offset; None if the batch has none there. Raises UnreadBatchError."""
    for each in _encoded(batch, raw):
        time_delta, at = _varint(each, 1)
        delta, at = _varint(each, at)
        if batch.base + delta == offset:
            key, at = _bytes(each, at)
            value, at = _bytes(each, at)
            count, at = _varint(each, at)
            headers = []
            for _ in range(count):
                name, at = _bytes(each, at)
                held, at = _bytes(each, at)
                headers.append((name or b"", held))
            return WholeRecord(key, value, tuple(headers), time_delta)
    return None


def crc_is_right(batch: Batch, data: bytes) -> bool:
    """Returns whether the checksum of a batch of magic 2 is that of its bytes, which `data` has at `batch.at`."""
    return int(google_crc32c.value(data[batch.at + HEADER - _COVERED.size : batch.at + batch.size])) == batch.crc


def _record(raw: bytes) -> Record:
    _, at = _varint(raw, 1)
    delta, at = _varint(raw, at)
    key, at = _bytes(raw, at)
    value, _ = _bytes(raw, at)
    return Record(key, value, delta)


def _bytes(raw: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(raw, at)
    if length < 0:
        return None, at
    if at + length > len(raw):
        raise UnreadBatchError("has a key or a value that is longer than the record")
    return raw[at : at + length], at + length


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= len(raw):
            break
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise UnreadBatchError("has an incomplete record")


def unpacked(codec: str, raw: bytes) -> bytes:
    """Returns at most `MOST_BYTES` decompressed bytes. Codecs other than gzip need the package `cramjam`."""
    if codec == "gzip":
        return _gunzip(raw)
    try:
        import cramjam  # noqa: PLC0415 - from the extra "inspect"
    except ImportError:
        raise UnreadBatchError(
            f"is compressed with {codec}: cannot be read without cramjam (kafka-kfix[inspect])"
        ) from None
    into = {"lz4": cramjam.lz4.decompress_into, "zstd": cramjam.zstd.decompress_into}
    try:
        if codec == "snappy":
            return _unsnap(raw, cramjam.snappy)
        if codec in into:
            return _bounded(into[codec], raw)
    except UnreadBatchError:
        raise
    except Exception:  # noqa: BLE001 - errors of the library and Rust panics
        raise UnreadBatchError(f"is compressed with {codec}, and cannot be decompressed") from None
    raise UnreadBatchError(f"is compressed with unknown {codec}: not read")


def _gunzip(raw: bytes) -> bytes:
    unpacker = zlib.decompressobj(31)
    try:
        data = unpacker.decompress(raw, MOST_BYTES)
    except zlib.error:
        raise UnreadBatchError("is compressed with gzip, and cannot be decompressed") from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise UnreadBatchError("is compressed with gzip, and too large or truncated")
    return data


def _bounded(unpack: Callable[[bytes, bytearray], int], raw: bytes) -> bytes:
    """Decompresses into a growing buffer, so that the library never allocates the size stated in the batch."""
    size = max(1 << 16, len(raw) * 4)
    while size <= MOST_BYTES:
        buffer = bytearray(size)
        try:
            return bytes(buffer[: unpack(raw, buffer)])
        except Exception as error:
            if "whole buffer" not in str(error):
                raise
            size *= 4
    raise UnreadBatchError("is compressed, and too large when decompressed: not read")


def _unsnap(raw: bytes, snappy: Any) -> bytes:
    """Decompresses raw snappy, or the framing of the Java client: magic, two versions, then (length, block) pairs."""
    if not raw.startswith(_XERIAL):
        return _unsnap_block(raw, snappy, MOST_BYTES)
    at, blocks, room = 16, [], MOST_BYTES
    while at < len(raw):
        length = struct.unpack_from(">i", raw.ljust(at + 4, b"\0"), at)[0]
        if length <= 0:
            raise UnreadBatchError("is compressed with snappy, and cannot be decompressed")
        blocks.append(_unsnap_block(raw[at + 4 : at + 4 + length], snappy, room))
        room -= len(blocks[-1])
        at += 4 + length
    return b"".join(blocks)


def _unsnap_block(raw: bytes, snappy: Any, room: int) -> bytes:
    size = snappy.decompress_raw_len(raw)
    if size > room:
        raise UnreadBatchError("is compressed, and too large when decompressed: not read")
    buffer = bytearray(size)
    return bytes(buffer[: snappy.decompress_raw_into(raw, buffer)])
