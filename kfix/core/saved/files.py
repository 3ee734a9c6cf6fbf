"""Snapshot files: gzip if the name ends in .gz, written atomically by renaming."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from kfix.core.derive.vantage import is_name
from kfix.core.documents.checked import NotJsonError, ShapeError, read_json
from kfix.core.documents.declared import dumped, loaded, schema_of
from kfix.core.documents.opening import decoded, read_file, read_standard_input, unpacked
from kfix.core.errors import UsageError
from kfix.core.private import write_private
from kfix.core.snapshot.snapshot import BrokerView, Snapshot

# The format of a snapshot file, `kfix.snapshot/1`: the declaration of `Snapshot` (docs/snapshot-format.md).

FORMAT = "kfix.snapshot"
VERSION = 1


def encode(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the content of a file as JSON types."""
    return {"format": FORMAT, "version": VERSION, **dumped(replace(snapshot, views=_written_once(snapshot.views)))}


def decode(raw: str | bytes, origin: str) -> Snapshot:
    """Returns the snapshot in the content of a file. Raises NotJsonError or ShapeError."""
    found = loaded(Snapshot, raw)
    _check_ids("views", {b: view.broker for b, view in found.views.items()})
    registrations = {} if found.zookeeper is None else found.zookeeper.registrations
    _check_ids("zookeeper.registrations", {b: mark.broker for b, mark in registrations.items()})
    for vantage in found.vantages:
        if not is_name(vantage.name):
            raise ShapeError(f"vantages: {vantage.name[:60]!r} is not a vantage name (1 to 40 printable characters)")
    return replace(found, views=_shared(found.views), origin=origin)


def file_schema() -> dict[str, Any]:
    found = schema_of(Snapshot)
    head = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    whole = found["$defs"][Snapshot.__name__]
    whole |= {"properties": head | whole["properties"], "required": [*head, *whole["required"]]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:{FORMAT}:{VERSION}", **found}


def _check_ids(field: str, ids: Mapping[int, int]) -> None:
    for key, broker in ids.items():
        if broker != key:
            raise ShapeError(f"{field}.{key}.broker: wanted {key}, not {broker}")


def _written_once(views: Mapping[int, BrokerView]) -> dict[int, BrokerView]:
    """Returns the views with equal partitions written once: the other brokers name the broker that has them."""
    first: dict[int, int] = {}
    same: dict[int, Any] = {b: first.setdefault(id(view.partitions), b) for b, view in views.items()}
    return {b: view if same[b] == b else replace(view, partitions=same[b]) for b, view in views.items()}


def _shared(views: Mapping[int, BrokerView]) -> dict[int, BrokerView]:
    """Makes brokers with the same partitions share one mapping, as in a snapshot of a live cluster."""
    found = {b: view.partitions for b, view in views.items() if not isinstance(view.partitions, int)}
    named: dict[int, Any] = {b: view.partitions for b, view in views.items() if b not in found}
    for broker, other in named.items():
        if other not in found:
            raise ShapeError(f"views.{broker}.partitions: there is no view of broker {other} with partitions")
    return {b: replace(view, partitions=found[named[b]]) if b in named else view for b, view in views.items()}


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
