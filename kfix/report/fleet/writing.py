"""An output into its file: whole or not at all, in the place of the one before."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from kfix.errors import UsageError
from kfix.harmless import for_document
from kfix.report.terminal import say_document

STDOUT: Final = "-"
#: Of a new file: node_exporter, mail and web servers are other users. An old file keeps its mode.
MODE: Final = 0o644


def write_output(text: str, where: str) -> None:
    """`where` is a path, or "-" for standard output. Written beside, synced, then renamed: a reader sees old or new.

    UsageError, one line, where there is no such folder, no permission, or no room; then the old file is as it was.
    """
    if where == STDOUT:
        say_document(text)
        return
    text = for_document(text)
    path = Path(where)
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    # A link stays a link, and the rename must not cross to another file system.
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        _through(path, text)
        return
    # Hidden, and with another ending than .prom: node_exporter does not take the half-written one.
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        _write(beside, text, _mode(path))
        beside.replace(path)
        _sync_folder(path.parent)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no folder {path.parent}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; what was there is as it was") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _through(path: Path, text: str) -> None:
    """/dev/stdout, a named pipe: what is no file cannot be replaced."""
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return MODE


def _write(path: Path, text: str, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    # A lone surrogate, as of a name that is no text, becomes an escape. No line end is changed: CSV has its own.
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.write(text)
        file.flush()
        os.fchmod(file.fileno(), mode)  # whatever the umask is
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
