"""A batch of one record without a value, which deletes its key from a compacted topic.

Source: `DefaultRecordBatch` and `DefaultRecord` of Kafka 2.7.1; the layout is in `kfix.core.kafka.batches`.
"""

from __future__ import annotations

import struct

import google_crc32c

_MAGIC = 2
_NONE = -1
#: From the attributes on, which the CRC covers: attributes, last offset delta, first and last time, producer id and
#: epoch, base sequence, number of records.
_COVERED = struct.Struct(">hiqqqhii")
_HEAD = struct.Struct(">qiibI")
#: partitionLeaderEpoch, magic and crc, which `length` counts as well.
_BEFORE = 9


def tombstone(key: bytes, now_ms: int) -> bytes:
    """Returns the batch as Produce carries it; the broker assigns the offset."""
    # attributes, time delta, offset delta, key, no value, no headers
    record = b"\0\0\0" + _varint(len(key)) + key + _varint(_NONE) + _varint(0)
    covered = _COVERED.pack(0, 0, now_ms, now_ms, _NONE, _NONE, _NONE, 1) + _varint(len(record)) + record
    crc = int(google_crc32c.value(covered))
    return _HEAD.pack(0, _BEFORE + len(covered), _NONE, _MAGIC, crc) + covered


def _varint(value: int) -> bytes:
    """Returns a zigzag varint."""
    left, out = (value << 1) ^ (value >> 31), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)
