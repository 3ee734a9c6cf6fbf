"""Writes an output to its file atomically, replacing the previous one."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from kfix.core.errors import UsageError
from kfix.core.harmless import for_document
from kfix.core.private import user_name
from kfix.front.terminal import say_document

STDOUT: Final = "-"
#: The mode of a new file: reports name clusters, hosts and users. An existing file keeps its mode, such as 644 for
#: node_exporter or a web server, which run as other users.
MODE: Final = 0o600


def write_output(text: str, where: str) -> None:
    """Writes to the path `where`, or to standard output for "-". The file is synced, then renamed into place.

    Raises UsageError if the folder does not exist or the file cannot be written; the old file is then unchanged.
    """
    if where == STDOUT:
        say_document(text)
        return
    text = for_document(text)
    path = Path(where)
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    if path.is_symlink() and (owner := path.lstat().st_uid) not in {0, os.geteuid()}:
        raise UsageError(f"{path}: is a link of {user_name(owner)}, and is not followed", hint="name another file")
    # A link is kept, and the rename stays within its file system.
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        _through(path, text)
        return
    # Hidden and without the ending .prom, so that node_exporter ignores the partial file.
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        _write(beside, text, _mode(path))
        beside.replace(path)
        _sync_folder(path.parent)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: the folder {path.parent} does not exist") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; the old file is unchanged") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _through(path: Path, text: str) -> None:
    """Writes to /dev/stdout or a named pipe, which cannot be replaced by a rename."""
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
    # A lone surrogate, as in a name that is not valid text, becomes an escape. Line ends are kept: CSV has its own.
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
