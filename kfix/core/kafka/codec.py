"""Kafka's primitive types, and the one codec of all messages, which are declared as text.

A declaration lists the fields of a struct in the order of the wire, as Kafka's own message definitions do:

    _throttle_ms:i32 error:i16 topics:[name:str partitions:[index:i32 voters:i32s _rack:str?@3]] cursor:{topic:str}?

    bool i8 i16 u16 i32 i64 f64 uuid str blob, i32s and strs (arrays), [...] (an array of structs), {...} (a struct)
    ?     may be null; without it, null is read as an empty value
    =-1   the value of a field that is left out; if not given, it is null with `?`, else 0 or empty
    @3    from version 3 on; left out in older ones
    #0    a tagged field, with the tag 0

The value of a struct is the tuple of its fields. A field whose name begins with _ is not one of them: its value is
written as if it was left out, and read past. Flexible versions have compact lengths and a tag buffer after each struct;
a response's own tag buffer is read only if it has declared tags.

Source: the protocol guide, and the JSON message definitions of Kafka 2.7.1 and 4.3.1.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby, starmap
from typing import Any, NamedTuple

from kfix.core.errors import UnreachableError

_I16, _I32 = struct.Struct(">h"), struct.Struct(">i")
_EARLY = "the response ends too early: not the requested version of the Kafka protocol"
#: Types of a fixed size, as the module `struct` names them.
_FIXED = {"bool": "?", "i8": "b", "i16": "h", "u16": "H", "i32": "i", "i64": "q", "f64": "d", "uuid": "16s"}
_STRUCTS = frozenset("[{")
_EMPTY = {"bool": False, "str": "", "blob": b"", "i32s": (), "strs": (), "[": (), "{": (), "uuid": b""}
_WORDS = re.compile(r"\w+:[\[{]|[\]}][^\s\]}]*|[^\s\]}]+")
_TYPE = re.compile(r"(\w+|[\[{])(\??)(?:=(-?\d+))?(?:@(\d+))?(?:#(\d+))?")

Row = tuple[Any, ...]
Rows = Sequence[Row]
Read = Callable[["ByteReader"], Any]
Write = Callable[[Any], bytes]
Put = Callable[[list[Any], Any], None]


class ProtocolError(UnreachableError):
    """A response that is not valid Kafka protocol, or not of the requested version."""


def _number(packed: struct.Struct) -> Callable[[ByteReader], int]:
    """Returns the method that reads one number; its calls are most of the cost of decoding."""

    def read(r: ByteReader) -> int:
        try:
            value: int = packed.unpack_from(r.data, r.at)[0]
        except struct.error:
            raise ProtocolError(_EARLY) from None
        r.at += packed.size
        return value

    return read


class ByteReader:
    """Reads from `data` at position `at`. Raises ProtocolError, never IndexError, at the end of the data."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    i8, i16, i32 = _number(struct.Struct(">b")), _number(_I16), _number(_I32)

    def unpack(self, packed: struct.Struct) -> Row:
        try:
            values = packed.unpack_from(self.data, self.at)
        except struct.error:
            raise ProtocolError(_EARLY) from None
        self.at += packed.size
        return values

    def take(self, size: int) -> bytes:
        at, end = self.at, self.at + size
        if size < 0 or end > len(self.data):
            raise ProtocolError(_EARLY)
        self.at = end
        return self.data[at:end]

    def string(self) -> str:
        return self.take(max(0, self.i16())).decode("utf-8", "replace")

    def count(self, claimed: int) -> int:
        # An element takes at least one byte, so a larger count is invalid and must not be used for allocation.
        if not -1 <= claimed <= len(self.data) - self.at:
            raise ProtocolError("the response claims an impossible number of elements: not the Kafka protocol")
        return max(0, claimed)

    def uvarint(self) -> int:
        value = shift = 0
        while self.at < len(self.data):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
            if shift > 28:  # an unsigned varint has at most 5 bytes
                raise ProtocolError("an invalid length: not the Kafka protocol")
        raise ProtocolError(_EARLY)

    def compact(self) -> int:
        """Returns a length or count of a flexible version, -1 for null."""
        return self.uvarint() - 1

    def tags(self) -> None:
        for _ in range(self.uvarint()):
            self.uvarint()
            self.take(self.uvarint())


class Field(NamedTuple):
    name: str
    type: str
    empty: Any
    since: int
    tag: int | None
    fields: tuple[Field, ...]

    @property
    def unnamed(self) -> bool:
        return self.name.startswith("_")


def _parsed(words: Iterator[str]) -> tuple[tuple[Field, ...], str]:
    """Returns fields up to the bracket that closes them, and the text after the bracket."""
    found: list[Field] = []
    for word in words:
        if word[0] in "]}":
            return tuple(found), word[1:]
        name, _, kind = word.partition(":")
        inner, after = _parsed(words) if kind in {"[", "{"} else ((), "")
        match = _TYPE.fullmatch(kind + after)
        assert match is not None, word
        kind, null, empty, since, tag = match.groups()
        value = int(empty) if empty else None if null else _EMPTY.get(kind, 0)
        found.append(Field(name, kind, value, int(since or 0), None if tag is None else int(tag), inner))
    return tuple(found), ""


@cache
def _fields(declared: str) -> tuple[Field, ...]:
    return _parsed(iter(_WORDS.findall(declared)))[0]


@cache
def decoder(declared: str, version: int = 0, *, flexible: bool = False) -> Decoder:
    return Decoder(_fields(declared), version, flexible=flexible, whole=True)


@cache
def encoder(declared: str, version: int = 0, *, flexible: bool = False) -> Encoder:
    return Encoder(_fields(declared), version, flexible=flexible)


def versioned(declared: str, raw: bytes, *, newest: int, flexible: int) -> Row | None:
    """Returns the fields after the version of a record that begins with it, up to the last one that is declared.

    None for a version above `newest`. Versions from `flexible` on are flexible.
    """
    r = ByteReader(raw)
    version = r.i16()
    return decoder(declared, version, flexible=version >= flexible).read(r) if 0 <= version <= newest else None


class Decoder:
    """Reads a struct in one version."""

    def __init__(self, fields: tuple[Field, ...], version: int, *, flexible: bool, whole: bool = False) -> None:
        self._version, self._flexible = version, flexible
        self._ends = flexible and not whole
        self._tagged = {each.tag: (each.empty, self._reader(each)) for each in fields if each.tag is not None}
        self._steps = list(self._all_steps([each for each in fields if each.tag is None]))
        #: The format of a struct whose values all have a fixed size.
        self._fixed = _packed(fields) if not flexible and all(map(self._is_fixed, fields)) else None

    def read(self, r: ByteReader) -> Row:
        row: list[Any] = []
        for read, put in self._steps:
            put(row, read(r))
        if self._tagged:
            row += self._read_tags(r)
        elif self._ends:
            r.tags()
        return tuple(row)

    def read_rows(self, r: ByteReader, count: int) -> list[Row]:
        # Rows of a fixed size are read at once: a snapshot with log ends has one for each replica.
        if self._fixed is not None:
            return list(self._fixed.iter_unpack(r.take(count * self._fixed.size)))
        return [self.read(r) for _ in range(count)]

    def _is_fixed(self, field: Field) -> bool:
        return field.type in _FIXED and field.since <= self._version

    def _all_steps(self, fields: list[Field]) -> Iterator[tuple[Read, Put]]:
        """Yields what reads a field and what puts it into the row; reads neighbours of a fixed size at once."""
        for fixed, group in groupby(fields, self._is_fixed):
            if fixed:
                yield partial(ByteReader.unpack, packed=_packed(group)), list.extend
            else:
                yield from ((self._reader(each), _drop if each.unnamed else list.append) for each in group)

    def _read_tags(self, r: ByteReader) -> list[Any]:
        found = {tag: empty for tag, (empty, _) in self._tagged.items()}
        for _ in range(r.uvarint() if self._flexible else 0):
            tag, size = r.uvarint(), r.uvarint()
            end = r.at + size
            if tag in found:
                found[tag] = self._tagged[tag][1](r)
            else:
                r.take(size)
            if r.at != end:
                raise ProtocolError("a tagged field with a wrong length: not the Kafka protocol")
        return list(found.values())

    def _reader(self, field: Field) -> Read:
        empty, size = field.empty, ByteReader.compact if self._flexible else ByteReader.i32
        text_size = ByteReader.compact if self._flexible else ByteReader.i16
        if field.since > self._version:
            return lambda _: empty
        if field.type in _FIXED:
            packed = _packed((field,))
            return lambda r: r.unpack(packed)[0]
        if field.type in _STRUCTS:
            return self._struct_reader(field, size)

        def text(r: ByteReader) -> Any:
            length = text_size(r)
            return empty if length < 0 else r.take(length).decode("utf-8", "replace")

        def blob(r: ByteReader) -> Any:
            length = size(r)
            return empty if length < 0 else r.take(length)

        def ids(r: ByteReader) -> Any:
            claimed = size(r)
            count = r.count(claimed)
            return empty if claimed < 0 else struct.unpack(f">{count}i", r.take(4 * count))

        def texts(r: ByteReader) -> list[Any]:
            return [text(r) for _ in range(r.count(size(r)))]

        return {"str": text, "blob": blob, "i32s": ids, "strs": texts}[field.type]

    def _struct_reader(self, field: Field, size: Callable[[ByteReader], int]) -> Read:
        inner = Decoder(field.fields, self._version, flexible=self._flexible)
        if field.type == "[":
            return lambda r: inner.read_rows(r, r.count(size(r)))
        return inner.read if field.empty is not None else lambda r: inner.read(r) if r.i8() >= 0 else None


class Encoder:
    """Writes a struct in one version. Its tagged fields are left out."""

    def __init__(self, fields: tuple[Field, ...], version: int, *, flexible: bool) -> None:
        self._version, self._flexible = version, flexible
        #: Writes each value after the bytes of the unnamed fields before it.
        self._writers: list[tuple[bytes, Write]] = []
        before = b""
        for each in fields:
            write = self._writer(each)
            if each.unnamed:
                before += write(each.empty)
            else:
                self._writers.append((before, write))
                before = b""
        self._end = before + (b"\0" if flexible else b"")
        packs = not flexible and all(each.type in _FIXED and not each.unnamed for each in fields)
        self._packed = _packed(fields) if packs else None

    def write(self, row: Row) -> bytes:
        parts: list[bytes] = []
        for value, (before, write) in zip(row, self._writers, strict=True):
            parts += before, write(value)
        return b"".join(parts) + self._end

    def write_rows(self, rows: Rows) -> bytes:
        return b"".join(map(self.write, rows) if self._packed is None else starmap(self._packed.pack, rows))

    def _writer(self, field: Field) -> Write:
        if field.since > self._version or field.tag is not None:
            return lambda _: b""
        if field.type in _FIXED:
            return struct.Struct(">" + _FIXED[field.type]).pack
        text = self._sized(_I16, bytes)
        if field.type == "str":
            return lambda value: text(None if value is None else value.encode())
        if field.type not in _STRUCTS:
            contents: dict[str, Write] = {
                "blob": bytes,
                "i32s": lambda ids: struct.pack(f">{len(ids)}i", *ids),
                "strs": lambda texts: b"".join(text(each.encode()) for each in texts),
            }
            return self._sized(_I32, contents[field.type])
        inner = Encoder(field.fields, self._version, flexible=self._flexible)
        if field.type == "[":
            return self._sized(_I32, inner.write_rows)
        mark = b"" if field.empty is not None else b"\1"
        return lambda row: b"\xff" if row is None else mark + inner.write(row)

    def _sized(self, packed: struct.Struct, content: Write) -> Write:
        """Returns what writes a value after its length; null has a length, too."""
        size = _compact if self._flexible else packed.pack
        null = size(-1)
        return lambda value: null if value is None else size(len(value)) + content(value)


def _drop(row: list[Any], value: Any) -> None:
    """Leaves out the value of an unnamed field."""


def _packed(fields: Iterable[Field]) -> struct.Struct:
    """Returns the format of fields of a fixed size; those without a name are pad bytes."""
    codes = [(_FIXED[each.type], each.unnamed) for each in fields]
    return struct.Struct(">" + "".join(f"{struct.calcsize('>' + c)}x" if unnamed else c for c, unnamed in codes))


def _compact(size: int) -> bytes:
    value, out = size + 1, bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
