"""One snapshot, one file: gzip where the name ends in .gz. Written beside and renamed, so that no reader sees half."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from kfix.adapters.saved.decode import decode
from kfix.adapters.saved.encode import FORMAT, VERSION, encode
from kfix.errors import UsageError
from kfix.model.snapshot import Snapshot
from kfix.private import write_private

_GZIP_MAGIC = b"\x1f\x8b"


def save(snapshot: Snapshot, path: Path) -> int:
    """The number of bytes written. The file may name hosts, groups and clients: it is readable by its owner only."""
    raw = json.dumps(encode(snapshot), separators=(",", ":")).encode()
    if path.suffix == ".gz":
        raw = gzip.compress(raw, compresslevel=1)
    write_whole(path, raw)
    return len(raw)


def write_whole(path: Path, raw: bytes) -> None:
    """Beside and renamed: a reader sees all of it or what was there before."""
    try:
        write_private(path, raw)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or '').lower()}") from None


def read_text(path: Path) -> str:
    """The text of a file, unpacked where it is gzip. One clear error for what cannot be read."""
    try:
        raw = path.read_bytes()
        if raw.startswith(_GZIP_MAGIC):
            raw = gzip.decompress(raw)
        return raw.decode("utf-8")
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise UsageError(f"{path}: is damaged: not a whole gzip file") from None
        raise UsageError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from None
    except (EOFError, zlib.error):
        raise UsageError(f"{path}: is damaged: the gzip file ends too early") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is neither a snapshot nor text") from None


def is_snapshot(text: str) -> bool:
    return text.lstrip().startswith("{") and f'"{FORMAT}"' in text[:200]


def parse(text: str, path: Path) -> Snapshot:
    try:
        raw = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        raise UsageError(
            f"{path}:{line}:{column}: is damaged: not whole JSON", hint="save the snapshot again"
        ) from None
    _check_version(raw, path)
    try:
        return decode(raw, str(path))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"{path}: is damaged: {type(error).__name__} at {error}", hint="save the snapshot again"
        ) from None


def _check_version(raw: Any, path: Path) -> None:
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise UsageError(f"{path}: is not a kfix snapshot")
    version = raw.get("version")
    if not isinstance(version, int) or version < 1:
        raise UsageError(f"{path}: is damaged: it has no format version")
    if version > VERSION:
        raise UsageError(
            f"{path}: has snapshot format {version} of kfix {raw.get('kfix', '?')}; this kfix reads up to {VERSION}",
            hint="upgrade kfix on this machine",
        )


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a value of a snapshot")
