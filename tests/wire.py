"""Kafka's primitive types, written and read by hand: what the tests send and expect does not come from kfix's codec."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from kfix.core.kafka.codec import ByteReader

T = TypeVar("T")

_I8, _I16, _I32, _I64 = (struct.Struct(f) for f in (">b", ">h", ">i", ">q"))


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


class Reader(ByteReader):
    def i64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def blob(self) -> bytes:
        return self.take(max(0, self.i32()))

    def array(self, each: Callable[[], T]) -> list[T]:
        return [each() for _ in range(self.count(self.i32()))]

    def compact_string(self) -> str:
        return self.take(max(0, self.compact())).decode()

    def compact_array(self, each: Callable[[], T]) -> list[T]:
        return [each() for _ in range(self.count(self.compact()))]
