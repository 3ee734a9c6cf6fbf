"""Reads the headers of the record batches of a segment; the records are neither read nor decompressed.

Source: `DefaultRecordBatch` (magic 2), `AbstractLegacyRecordBatch`, `LegacyRecord` (magic 0, 1) of Kafka 2.7.1:

magic 2   0 baseOffset i64, 8 length i32, 12 partitionLeaderEpoch i32, 16 magic i8, 17 crc u32 (CRC-32C of all that
          follows it), 21 attributes i16, 23 lastOffsetDelta i32, 27 baseTimestamp i64, 35 maxTimestamp i64,
          43 producerId i64, 51 producerEpoch i16, 53 baseSequence i32, 57 records i32, 61 the records
magic 0,1 0 offset i64, 8 length i32, 12 crc u32 (CRC-32 of all that follows it), 16 magic i8, 17 attributes i8,
          18 timestamp i64 (magic 1 only), then key and value. One record, or a compressed set whose last offset it is.

`length` counts what follows it.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import google_crc32c

from kfix.adapters.disk.opening import DiskFile, NotReadError
from kfix.model.disk import Grade, Oddity

#: baseOffset and length, which `length` does not count.
OVERHEAD = 12
HEADER = 61
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_HEADER = struct.Struct(">qiibIhiqqq6xi")
_LENGTH = struct.Struct(">i")
_OLD = struct.Struct(">qiIbbq")
_SMALLEST = {0: 14, 1: 22, 2: HEADER - OVERHEAD}
_FOLLOWS_CRC = {0: 16, 1: 16, 2: 21}
#: Bytes read at once; after a larger batch, only the next header is read. Skipping smaller batches is slower, since
#: a disk reads ahead: measured without cache and with batches of 40 kB, it takes four times as long.
_WINDOW = 64 << 10
_CHUNK = 1 << 20
#: Pauses in seconds: a batch that a broker is writing is complete within milliseconds.
_PAUSES = (0.01, 0.05, 0.2)

#: Called with the byte position and the text of each error.
ReportAt = Callable[[int, str], None]


class Batch(NamedTuple):
    """The header of a batch. `at` and `size` are bytes in the file; `last` is the last offset.

    `epoch` is -1 and `records` None where the format does not contain them. `kind` has the attributes: bits 0-2 codec,
    3 timestamp type, 4 transactional, 5 control. Times are milliseconds since the epoch.
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

    @property
    def codec(self) -> str:
        return CODECS.get(self.kind & 7, f"codec {self.kind & 7}")

    @property
    def transactional(self) -> bool:
        return bool(self.kind & 0x10)

    @property
    def control(self) -> bool:
        return bool(self.kind & 0x20)


def batches(file: DiskFile, report: ReportAt, *, far: bool = False) -> Iterator[Batch]:
    """Yields the batches up to the end of the file or the first invalid batch, which is reported.

    With `far`, only one header is read at first. If the last batch is incomplete and the file grows, a broker is
    writing it, and it is read again. Raises NotReadError if the file cannot be read or is truncated meanwhile.
    """
    at, window, begins = 0, b"", 0
    pauses = iter(_PAUSES)
    while at < file.size:
        offset = at - begins
        if offset + HEADER > len(window):
            window, begins, offset = _window(file, at, HEADER if far else _WINDOW), at, 0
        size = OVERHEAD + _LENGTH.unpack_from(window, offset + 8)[0]
        left = file.size - at
        if left < OVERHEAD or size > left:
            if _more_comes(file, next(pauses, None)):
                window = b""
                continue
            report(at, _torn(left, size))
            return
        batch = _header(window, offset, at)
        if isinstance(batch, str):
            report(at, batch)
            return
        if batch.records is not None and not 0 <= batch.records <= batch.last - batch.base + 1:
            report(at, f"{batch.records} records in the batch of offsets {batch.base} to {batch.last}")
        yield batch
        at += size
        far = size > _WINDOW


def first_batch(file: DiskFile) -> Batch | None:
    """Returns the first batch, or None where the file does not begin with a complete one."""
    return next(batches(file, lambda _at, _what: None, far=True), None)


def good_crc(file: DiskFile, batch: Batch) -> bool | None:
    """Whether the CRC of the batch is correct; None if the file was truncated meanwhile."""
    at, end = batch.at + _FOLLOWS_CRC[batch.magic], batch.at + batch.size
    crc = 0
    while at < end:
        chunk = file.read(at, min(_CHUNK, end - at))
        if not chunk:
            return None
        crc = google_crc32c.extend(crc, chunk) if batch.magic == 2 else zlib.crc32(chunk, crc)
        at += len(chunk)
    return bool(crc == batch.crc)


def _window(file: DiskFile, at: int, size: int) -> bytes:
    """Returns at least the bytes of a header, padded with zeros at the end of the file: old batches are shorter."""
    raw = file.read(at, size)
    if len(raw) < min(size, file.size - at):
        raise NotReadError(Oddity(file.name, at, "was truncated while it was read", Grade.NOTE))
    return raw.ljust(HEADER, b"\0")


def _header(window: bytes, offset: int, at: int) -> Batch | str:
    """Returns the batch at this position of the window, or the reason why it is invalid."""
    fields = _HEADER.unpack_from(window, offset)
    base, length, epoch, magic, crc, kind, delta, first, last, producer, records = fields
    if length < _SMALLEST.get(magic, 0):
        if not any(window[offset : offset + HEADER]):
            return "zeros from here on: preallocated, or lost in a power failure"
        return f"invalid batch length {length}"
    if base < 0:
        return f"invalid batch offset {base}"
    if magic == 2:
        if delta < 0:
            return f"invalid last offset, {-delta} below the first, {base}"
        return Batch(at, OVERHEAD + length, base, base + delta, epoch, 2, crc, kind, first, last, producer, records)
    return _old_header(window, offset, at) if magic in _SMALLEST else f"magic {magic} is not a known record format"


def _old_header(window: bytes, offset: int, at: int) -> Batch:
    """Returns a batch of magic 0 or 1.

    For a compressed set, the header has only the last offset and no record count.
    """
    last, length, crc, magic, kind, stamp = _OLD.unpack_from(window, offset)
    stamp = stamp if magic == 1 else -1
    kind &= 0x0F
    return Batch(at, OVERHEAD + length, last, last, -1, magic, crc, kind, stamp, stamp, -1, None if kind & 7 else 1)


def _torn(left: int, size: int) -> str:
    if left < OVERHEAD:
        return f"incomplete: {left} bytes after the last batch, less than a header"
    return f"incomplete: the batch should have {size} bytes, {left} are present"


def _more_comes(file: DiskFile, pause: float | None) -> bool:
    if pause is None:
        return False
    time.sleep(pause)
    return file.grown()
