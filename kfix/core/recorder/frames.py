"""One record of the ring: framed, checksummed, compressed. A record that was not written whole is recognized.

marker    4 bytes, `KFR1`
kind      1 byte, a `RecordKind`
sequence  8 bytes; records are ordered by it, never by a clock
at        8 bytes, seconds since the epoch by the clock of the recording host
recorded  8 bytes, seconds of recording before this record, by a clock that is never set
size      4 bytes, of the content
checksum  4 bytes, CRC-32 of all of these and the content
content   JSON, deflated
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from kfix.core.documents.opening import LARGEST

MARKER: Final = b"KFR1"
_HEAD: Final = struct.Struct(">4sBQddI")
_SUM: Final = struct.Struct(">I")
HEADER: Final = _HEAD.size + _SUM.size
_LEVEL: Final = 6


class RecordKind(IntEnum):
    """A whole snapshot, its difference from the snapshot before it in the same file, or a remark of the watch."""

    WHOLE = 1
    DIFFERENCE = 2
    REMARK = 3


#: Of times in seconds; the year 10000 has no date.
_END_OF_TIME: Final = 253_402_300_800.0
_KINDS: Final = frozenset(map(int, RecordKind))


@dataclass(frozen=True, slots=True)
class RecordHead:
    """`offset` is where the record begins in its file, `size` the bytes of its content."""

    kind: RecordKind
    sequence: int
    at: float
    recorded: float
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + HEADER + self.size


def framed(kind: RecordKind, sequence: int, at: float, recorded: float, content: Any) -> bytes:
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), _LEVEL)
    head = _HEAD.pack(MARKER, kind, sequence, at, recorded, len(packed))
    return head + _SUM.pack(zlib.crc32(packed, zlib.crc32(head))) + packed


def heads(data: bytes) -> Iterator[RecordHead]:
    """Yields the intact records of a file. Damaged bytes are passed over, up to the next intact record."""
    at = 0
    while (at := data.find(MARKER, at)) >= 0:
        head = _head(data, at)
        if head is None:
            at += 1
            continue
        yield head
        at = head.end


def _head(data: bytes, at: int) -> RecordHead | None:
    if len(data) - at < HEADER:
        return None
    _, kind, sequence, time, recorded, size = _HEAD.unpack_from(data, at)
    end = at + HEADER + size
    # NaN is in no range.
    if end > len(data) or kind not in _KINDS or not (0 <= time < _END_OF_TIME and 0 <= recorded < _END_OF_TIME):
        return None
    [checksum] = _SUM.unpack_from(data, at + _HEAD.size)
    view = memoryview(data)
    if checksum != zlib.crc32(view[at + HEADER : end], zlib.crc32(view[at : at + _HEAD.size])):
        return None
    return RecordHead(RecordKind(kind), sequence, time, recorded, at, size)


def is_torn(data: bytes) -> bool:
    """Whether these bytes, of a whole file, are the beginning of one record whose end was never written."""
    if len(data) < HEADER:
        return data[: len(MARKER)] == MARKER[: len(data)]
    marker, _, _, _, _, size = _HEAD.unpack_from(data)
    return marker == MARKER and len(data) < HEADER + int(size)


def content(data: bytes, head: RecordHead) -> Any:
    """Returns the content of a record. Raises ValueError if it is not what `framed` wrote."""
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(data[head.offset + HEADER : head.end], LARGEST)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("a record of impossible size")
    return json.loads(raw)
