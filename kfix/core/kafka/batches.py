"""The headers of record batches, in segment files and in the responses to Fetch.

Source: `DefaultRecordBatch` (magic 2), `AbstractLegacyRecordBatch`, `LegacyRecord` (magic 0, 1) of Kafka 2.7.1:

magic 2   0 baseOffset i64, 8 length i32, 12 partitionLeaderEpoch i32, 16 magic i8, 17 crc u32 (CRC-32C of all that
          follows it), 21 attributes i16, 23 lastOffsetDelta i32, 27 baseTimestamp i64, 35 maxTimestamp i64,
          43 producerId i64, 51 producerEpoch i16, 53 baseSequence i32, 57 records i32, 61 the records
magic 0,1 0 offset i64, 8 length i32, 12 crc u32 (CRC-32 of all that follows it), 16 magic i8, 17 attributes i8,
          18 timestamp i64 (magic 1 only), then key and value. One record, or a compressed set whose last offset it is.

`length` counts what follows it.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

#: baseOffset and length, which `length` does not count.
OVERHEAD = 12
HEADER = 61
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">qiibIhiqqqh4xi")
_OLD = struct.Struct(">qiIbbq")
_SMALLEST = {0: 14, 1: 22, 2: HEADER - OVERHEAD}


class Batch(NamedTuple):
    """The header of a batch. `at` and `size` are bytes in the file; `last` is the last offset.

    `epoch` is -1 and `records` None if the format does not contain them. `kind` has the attributes: bits 0-2 codec,
    3 timestamp type, 4 transactional, 5 control. Times are milliseconds since the epoch. `producer_epoch` belongs to
    the producer id.
    """

    at: int
    size: int
    base: int
    last: int
    epoch: int
    magic: int
    crc: int
    kind: int
    first_ms: int
    last_ms: int
    producer: int
    records: int | None
    producer_epoch: int = -1

    @property
    def codec(self) -> str:
        return CODECS.get(self.kind & 7, f"codec {self.kind & 7}")

    @property
    def transactional(self) -> bool:
        return bool(self.kind & 0x10)

    @property
    def control(self) -> bool:
        return bool(self.kind & 0x20)


def header_at(window: bytes, offset: int, at: int) -> Batch | str:
    """Returns the batch at this position of the window, or the reason why it is invalid."""
    fields = _HEADER.unpack_from(window, offset)
    base, length, epoch, magic, crc, kind, delta, first, last, producer, fence, records = fields
    if length < _SMALLEST.get(magic, 0):
        if not any(window[offset : offset + HEADER]):
            return "zeros from here on: preallocated, or lost in a power failure"
        return f"invalid batch length {length}"
    if base < 0:
        return f"invalid batch offset {base}"
    if magic == 2:
        if delta < 0:
            return f"invalid last offset, {-delta} below the first, {base}"
        size = OVERHEAD + length
        return Batch(at, size, base, base + delta, epoch, 2, crc, kind, first, last, producer, records, fence)
    return _old_header(window, offset, at) if magic in _SMALLEST else f"magic {magic} is not a known record format"


def _old_header(window: bytes, offset: int, at: int) -> Batch:
    """Returns a batch of magic 0 or 1.

    For a compressed set, the header has only the last offset and no record count.
    """
    last, length, crc, magic, kind, stamp = _OLD.unpack_from(window, offset)
    stamp = stamp if magic == 1 else -1
    kind &= 0x0F
    return Batch(at, OVERHEAD + length, last, last, -1, magic, crc, kind, stamp, stamp, -1, None if kind & 7 else 1)


def batches_in(data: bytes) -> Iterator[tuple[Batch, bytes]]:
    """Yields each whole batch of a response to Fetch with the bytes after its header.

    It stops at a truncated last batch, or at one of an old or unknown format.
    """
    at = 0
    while at + HEADER <= len(data):
        batch = header_at(data, at, at)
        if isinstance(batch, str) or batch.magic != 2 or at + batch.size > len(data):
            return
        yield batch, data[at + HEADER : at + batch.size]
        at += batch.size
