"""Kafka's primitive types: classic, and flexible (compact, with tag buffers) where an API has no other encoding.

Source: the protocol guide, and the JSON message schemas of Kafka 2.7.1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from kfix.errors import UnreachableError

T = TypeVar("T")

_I8, _I16, _I32, _I64 = (struct.Struct(f) for f in (">b", ">h", ">i", ">q"))


class ProtocolError(UnreachableError):
    """A response that is not valid Kafka protocol, or not of the requested version."""


class Writer:
    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def done(self) -> bytes:
        return b"".join(self._parts)

    def i8(self, value: int) -> Writer:
        self._parts.append(_I8.pack(value))
        return self

    def i16(self, value: int) -> Writer:
        self._parts.append(_I16.pack(value))
        return self

    def i32(self, value: int) -> Writer:
        self._parts.append(_I32.pack(value))
        return self

    def i64(self, value: int) -> Writer:
        self._parts.append(_I64.pack(value))
        return self

    def string(self, value: str | None) -> Writer:
        if value is None:
            return self.i16(-1)
        raw = value.encode()
        self._parts.append(_I16.pack(len(raw)) + raw)
        return self

    def blob(self, value: bytes) -> Writer:
        self._parts.append(_I32.pack(len(value)) + value)
        return self

    def raw(self, data: bytes) -> Writer:
        """Appends bytes that are encoded already."""
        self._parts.append(data)
        return self

    def array(self, items: list[T] | tuple[T, ...] | None, each: Callable[[Writer, T], object]) -> Writer:
        self.i32(-1 if items is None else len(items))
        for item in items or ():
            each(self, item)
        return self

    def uvarint(self, value: int) -> Writer:
        out = bytearray()
        while value > 0x7F:
            out.append((value & 0x7F) | 0x80)
            value >>= 7
        out.append(value)
        self._parts.append(bytes(out))
        return self

    def compact_string(self, value: str) -> Writer:
        raw = value.encode()
        self.uvarint(len(raw) + 1)
        self._parts.append(raw)
        return self

    def compact_array(self, items: list[T] | tuple[T, ...] | None, each: Callable[[Writer, T], object]) -> Writer:
        self.uvarint(0 if items is None else len(items) + 1)
        for item in items or ():
            each(self, item)
        return self

    def no_tags(self) -> Writer:
        return self.uvarint(0)


class ByteReader:
    """Reads from `data` at position `at`. Raises ProtocolError, never IndexError, at the end of the data."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def _unpack(self, packed: struct.Struct) -> int:
        try:
            (value,) = packed.unpack_from(self.data, self.at)
        except struct.error:
            raise ProtocolError(
                "the response ends too early: not the requested version of the Kafka protocol"
            ) from None
        self.at += packed.size
        return int(value)

    def i8(self) -> int:
        return self._unpack(_I8)

    def i16(self) -> int:
        return self._unpack(_I16)

    def i32(self) -> int:
        return self._unpack(_I32)

    def i64(self) -> int:
        return self._unpack(_I64)

    def boolean(self) -> bool:
        return self.i8() != 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise ProtocolError("the response ends too early: not the requested version of the Kafka protocol")
        raw = self.data[self.at : self.at + size]
        self.at += size
        return raw

    def nullable_string(self) -> str | None:
        size = self.i16()
        return None if size < 0 else self.take(size).decode("utf-8", "replace")

    def string(self) -> str:
        return self.nullable_string() or ""

    def blob(self) -> bytes:
        size = self.i32()
        return b"" if size < 0 else self.take(size)

    def array(self, each: Callable[[], T]) -> list[T]:
        return [each() for _ in range(self._count(self.i32()))]

    def _count(self, claimed: int) -> int:
        # An element takes at least one byte, so a larger count is invalid and must not be used for allocation.
        if claimed > len(self.data) - self.at:
            raise ProtocolError("the response claims more elements than it has bytes: not the Kafka protocol")
        return max(0, claimed)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.i8() & 0xFF
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
            if shift > 28:  # an unsigned varint has at most 5 bytes
                raise ProtocolError("an invalid length: not the Kafka protocol")

    def compact_string(self) -> str:
        size = self.uvarint() - 1
        return "" if size < 0 else self.take(size).decode("utf-8", "replace")

    def compact_array(self, each: Callable[[], T]) -> list[T]:
        return [each() for _ in range(self._count(self.uvarint() - 1))]

    def tags(self) -> None:
        for _ in range(self.uvarint()):
            self.uvarint()
            self.take(self.uvarint())
