"""Reads the headers of the record batches of a segment; the records are neither read nor decompressed."""

import time
import zlib
from collections.abc import Callable, Iterator

import google_crc32c

from kfix.core.disk.model import Grade, Oddity
from kfix.core.disk.opening import DiskFile, NotReadError
from kfix.core.kafka.batches import HEADER, LENGTH, OVERHEAD, Batch, header_at

_FOLLOWS_CRC = {0: 16, 1: 16, 2: 21}
#: Bytes read at once; after a larger batch, only the next header is read. Skipping smaller batches is slower, since
#: a disk reads ahead: measured without cache and with batches of 40 kB, it takes four times as long.
_WINDOW = 64 << 10
_CHUNK = 1 << 20
#: Pauses in seconds: a batch that a broker is writing is complete within milliseconds.
_PAUSES = (0.01, 0.05, 0.2)

#: Called with the byte position and the text of each error.
ReportAt = Callable[[int, str], None]


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
        size = OVERHEAD + LENGTH.unpack_from(window, offset + 8)[0]
        left = file.size - at
        if left < OVERHEAD or size > left:
            if _more_comes(file, next(pauses, None)):
                window = b""
                continue
            report(at, _torn(left, size))
            return
        batch = header_at(window, offset, at)
        if isinstance(batch, str):
            report(at, batch)
            return
        if batch.records is not None and not 0 <= batch.records <= batch.last - batch.base + 1:
            report(at, f"{batch.records} records in the batch of offsets {batch.base} to {batch.last}")
        yield batch
        at += size
        far = size > _WINDOW


def first_batch(file: DiskFile) -> Batch | None:
    """Returns the first batch, or None if the file does not begin with a complete one."""
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


def _torn(left: int, size: int) -> str:
    if left < OVERHEAD:
        return f"incomplete: {left} bytes after the last batch, less than a header"
    return f"incomplete: the batch should have {size} bytes, {left} are present"


def _more_comes(file: DiskFile, pause: float | None) -> bool:
    if pause is None:
        return False
    time.sleep(pause)
    return file.grown()
