"""Snapshot files: gzip if the name ends in .gz, written atomically by renaming."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Final

import msgspec

from kfix.core.documents.checked import NotJsonError, ShapeError, read_json
from kfix.core.documents.decoding import decoded
from kfix.core.documents.opening import read_file, read_standard_input, unpacked
from kfix.core.errors import UsageError
from kfix.core.private import write_private
from kfix.core.saved.format import FORMAT, VERSION, decode, encode
from kfix.core.snapshot.snapshot import Snapshot

_GZIP_MAGIC = b"\x1f\x8b"
#: The name by which a person asks for standard input.
STANDARD_INPUT: Final = Path("-")


def save(snapshot: Snapshot, path: Path) -> int:
    """Writes a snapshot and returns the number of bytes. The file is readable by its owner only.

    Raises UsageError if it cannot be written.
    """
    raw = json.dumps(encode(snapshot), separators=(",", ":")).encode()
    if path.suffix == ".gz":
        import gzip  # noqa: PLC0415 - only a compressed file needs it

        raw = gzip.compress(raw, compresslevel=6)
    write_whole(path, raw)
    return len(raw)


def write_whole(path: Path, raw: bytes) -> None:
    """Writes a file atomically: a reader sees the old or the new content. Raises UsageError if it cannot be written."""
    try:
        write_private(path, raw)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or '').lower()}") from None


def shown(path: Path) -> str:
    """Returns the name of a file in messages."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def read_text(path: Path) -> str:
    """Returns the text of a file, unpacked if it is gzip; `-` is standard input.

    Raises UsageError if it cannot be read.
    """
    try:
        raw = read_standard_input() if path == STANDARD_INPUT else read_file(path)
        if raw.startswith(_GZIP_MAGIC):
            raw = unpacked(raw, shown(path))
        return decoded(raw)
    except OSError as error:
        raise UsageError(f"{shown(path)}: cannot be read: {(error.strerror or '').lower()}") from None
    except EOFError:
        raise UsageError(f"{shown(path)}: is damaged: the gzip file ends too early") from None
    except zlib.error:
        raise UsageError(f"{shown(path)}: is damaged: invalid gzip data") from None
    except UnicodeDecodeError:
        raise UsageError(f"{shown(path)}: is neither a snapshot nor text") from None


def is_snapshot(text: str) -> bool:
    return text.lstrip().startswith("{") and f'"{FORMAT}"' in text[:200]


class _Head(msgspec.Struct):
    """The fields that every later version has, whatever its shape."""

    format: str = ""
    version: int = 0
    kfix: str = "?"


def parse(text: str, path: Path) -> Snapshot:
    """Returns the snapshot. Raises UsageError, one line with the position or path of the error."""
    try:
        _check_version(read_json(text, _Head), path)
        return decode(text, str(path))
    except NotJsonError as error:
        raise UsageError(
            f"{shown(path)}:{error.line}:{error.column}: is damaged: invalid JSON ({error})",
            hint="save the snapshot again",
        ) from None
    except ShapeError as error:
        raise UsageError(f"{shown(path)}: is damaged: {error}", hint="save the snapshot again") from None


def _check_version(head: _Head, path: Path) -> None:
    if head.format != FORMAT:
        raise UsageError(f"{shown(path)}: is not a kfix snapshot")
    if head.version < 1:
        raise UsageError(f"{shown(path)}: is damaged: it has no format version")
    if head.version > VERSION:
        raise UsageError(
            f"{shown(path)}: has snapshot format {head.version} of kfix {head.kfix[:40]}; "
            f"this kfix reads up to {VERSION}",
            hint="upgrade kfix on this machine",
        )
