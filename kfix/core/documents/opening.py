"""The one way to open a file that a person names: only a regular file of a limited size, so that kfix never blocks.

The name `-` is standard input. kfix refuses a pipe, a device and a socket before it opens them. If the system refuses,
as for a folder, the error stays an OSError, which each reader reports in its own words.
"""

import codecs
import errno
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kfix.core.errors import UsageError

#: The largest file that is read as a whole, and the most that a gzip file may unpack to: a snapshot of 100 brokers and
#: 50 000 partitions has about 200 MiB.
LARGEST: Final = 512 << 20
_GZIP: Final = 31  # zlib's number for "expect a gzip header and trailer".
_CHUNK: Final = 1 << 20
_KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def open_file(path: Path) -> BinaryIO:
    """Returns a regular file, open for reading.

    Raises UsageError if it is anything else, OSError if it cannot be opened.
    """
    _check_kind(path, path.stat().st_mode)  # Before it is opened: opening a device may have an effect.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _check_kind(path, os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_file(path: Path, largest: int = LARGEST) -> bytes:
    """Returns all bytes of a regular file. Raises UsageError if it has more than `largest`, else as `open_file`."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(largest + 1) if size <= largest else b""
    if size > largest or len(raw) > largest:
        raise UsageError(f"{path}: is larger than {_mib(largest)}, and is not read")
    return raw


def read_standard_input(largest: int = LARGEST) -> bytes:
    """Returns all bytes of standard input. Raises UsageError if it is closed or has more than `largest`."""
    stream = sys.stdin
    try:
        raw = b"" if stream is None else stream.buffer.read(largest + 1)
    except (OSError, ValueError):
        stream = None
    if stream is None:
        raise UsageError("standard input is closed", hint="name a file")
    if len(raw) > largest:
        raise UsageError(f"standard input: is larger than {_mib(largest)}, and is not read")
    return raw


def unpacked(raw: bytes, what: str, largest: int = LARGEST) -> bytes:
    """Returns the content of a gzip file. Raises zlib.error or EOFError if it is damaged or ends too early.

    The bytes are counted before they are kept: a file that unpacks to more than `largest` bytes costs no memory.
    """
    total = 0
    for part in _members(raw):
        total += len(part)
        if total > largest:
            raise UsageError(f"{what}: unpacks to more than {_mib(largest)}, and is not read")
    return b"".join(_members(raw))


def _members(raw: bytes) -> Iterator[bytes]:
    """Yields the members of a gzip file; zeros may follow the last."""
    while raw:
        member = zlib.decompressobj(wbits=_GZIP)
        part = member.decompress(raw, _CHUNK)
        while part or not member.eof:
            yield part
            if member.eof:
                break
            rest = member.unconsumed_tail
            part = member.decompress(rest, _CHUNK)
            if not part and not rest and not member.eof:
                raise EOFError("the gzip file ends too early")
        raw = member.unused_data.lstrip(b"\0")


def _check_kind(path: Path, mode: int) -> None:
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFREG:
        return
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    hint = "save its output to a file first: COMMAND > FILE" if kind == stat.S_IFIFO else "name a regular file"
    raise UsageError(f"{path}: is {_KINDS.get(kind, 'not a file')}, not a regular file, and is not read", hint=hint)


def _mib(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(raw: bytes) -> str:
    """Returns the text; a line that is not UTF-8 is read as Latin-1, so that one byte does not spoil the others.

    Raises UnicodeDecodeError for bytes that are not text.
    """
    if raw.startswith(_UTF16):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        if b"\0" in raw:
            raise
        return "".join(map(decoded_line, raw.splitlines(keepends=True)))


def decoded_line(raw: bytes) -> str:
    """Returns one line, as Latin-1 if it is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
