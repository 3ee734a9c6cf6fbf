"""Record batches of a segment, header by header; what lies in them is neither read nor unpacked.

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
#: Read at once; behind a batch that is larger only the next header is. To leap over smaller ones costs more than it
#: spares, since a disk reads ahead: measured cold, with batches of 40 kB, leaping takes four times as long.
_WINDOW = 64 << 10
_CHUNK = 1 << 20
#: A batch that a broker is just writing is whole within milliseconds.
_PAUSES = (0.01, 0.05, 0.2)

#: Hears of what is wrong: byte and words.
Told = Callable[[int, str], None]


class Batch(NamedTuple):
    """`at` and `size` are bytes in the file; `last` is the last offset; `epoch` -1 and `records` None where not told.

    `kind` are the attributes: codec 0-2, timestamp type 3, transactional 4, control 5.
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


def batches(file: DiskFile, told: Told, *, far: bool = False) -> Iterator[Batch]:
    """From the start of the file to its end, or to what cannot be a batch: that is told, and ends the walk.

    `far`: only one header is read at first. Where the last batch is not whole and the file grows, a broker is just
    writing it: it is read again. NotReadError where the file cannot be read, or is cut meanwhile.
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
            told(at, _torn(left, size))
            return
        batch = _header(window, offset, at)
        if isinstance(batch, str):
            told(at, batch)
            return
        if batch.records is not None and not 0 <= batch.records <= batch.last - batch.base + 1:
            told(at, f"{batch.records} records in a batch of the offsets {batch.base} to {batch.last}")
        yield batch
        at += size
        far = size > _WINDOW


def first_batch(file: DiskFile) -> Batch | None:
    """None where the file does not begin with a whole batch; a walk tells why."""
    return next(batches(file, lambda _at, _what: None, far=True), None)


def good_crc(file: DiskFile, batch: Batch) -> bool | None:
    """None where the file was cut meanwhile."""
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
    """Never less than a header's bytes: behind the end of the file come zeros, for old batches are shorter."""
    raw = file.read(at, size)
    if len(raw) < min(size, file.size - at):
        raise NotReadError(Oddity(file.name, at, "was cut while it was read", Grade.NOTE))
    return raw.ljust(HEADER, b"\0")


def _header(window: bytes, offset: int, at: int) -> Batch | str:
    """The batch at an offset of the window, which has at least a header's bytes there; or why it can be none."""
    fields = _HEADER.unpack_from(window, offset)
    base, length, epoch, magic, crc, kind, delta, first, last, producer, records = fields
    if length < _SMALLEST.get(magic, 0):
        if not any(window[offset : offset + HEADER]):
            return "zeros from here on: allocated before it was written, or lost in a power failure"
        return f"impossible length {length} of a batch"
    if base < 0:
        return f"impossible offset {base} of a batch"
    if magic == 2:
        if delta < 0:
            return f"impossible last offset, {-delta} below the first, {base}"
        return Batch(at, OVERHEAD + length, base, base + delta, epoch, 2, crc, kind, first, last, producer, records)
    return _old_header(window, offset, at) if magic in _SMALLEST else f"magic {magic} is no record format"


def _old_header(window: bytes, offset: int, at: int) -> Batch:
    """Magic 0 and 1. Of a compressed set the header tells the last offset alone, and not how many records it holds."""
    last, length, crc, magic, kind, stamp = _OLD.unpack_from(window, offset)
    stamp = stamp if magic == 1 else -1
    kind &= 0x0F
    return Batch(at, OVERHEAD + length, last, last, -1, magic, crc, kind, stamp, stamp, -1, None if kind & 7 else 1)


def _torn(left: int, size: int) -> str:
    if left < OVERHEAD:
        return f"torn: {left} bytes after the last batch, less than the header of one"
    return f"torn: the batch says {size} bytes, {left} are there"


def _more_comes(file: DiskFile, pause: float | None) -> bool:
    if pause is None:
        return False
    time.sleep(pause)
    return file.grown()
