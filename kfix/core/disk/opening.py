"""Opens files for reading, without blocking, on a disk that may be damaged, hostile or in use by a broker.

Files are not memory-mapped: a broker that truncates a segment would kill this process with SIGBUS.
"""

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from kfix.core.disk.model import Grade, Oddity

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
#: Does not change the access time; only the owner of a file and root may use it.
_QUIET = getattr(os, "O_NOATIME", 0)
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
}


class NotReadError(Exception):
    """One file could not be read; `oddity` is the remark to report. Reading continues with other files."""

    def __init__(self, oddity: Oddity) -> None:
        super().__init__(oddity.what)
        self.oddity = oddity


class DiskFile:
    """An open regular file. `size` is its size in bytes when it was opened; `grown` updates it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = shown(path)
        try:
            # Before it is opened, since opening a device may have side effects.
            kind = stat.S_IFMT(path.lstat().st_mode)
            if kind != stat.S_IFREG:
                raise self._not_read(f"is {_KINDS.get(kind, 'not a file')}: not opened")
            self._handle = _open(path)
        except OSError as error:
            raise not_read(path, error) from None
        status = os.fstat(self._handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._handle)
            raise self._not_read("is no longer a regular file: not read")
        self.size = status.st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._handle)

    def read(self, at: int, count: int) -> bytes:
        """Returns up to `count` bytes, fewer at the end of the file or if it was truncated meanwhile."""
        try:
            return os.pread(self._handle, count, at)
        except OSError as error:
            raise not_read(self.path, error) from None

    def grown(self) -> bool:
        """Whether the file has grown since; updates `size`."""
        now = os.fstat(self._handle).st_size
        before, self.size = self.size, now
        return now > before

    def _not_read(self, what: str) -> NotReadError:
        return NotReadError(Oddity(self.name, None, what, Grade.UNREAD))


def _open(path: Path) -> int:
    try:
        return os.open(path, _FLAGS | _QUIET)
    except PermissionError:
        return os.open(path, _FLAGS)


def not_read(path: Path, error: OSError) -> NotReadError:
    """Returns the error. A file that a running broker deletes meanwhile is only a note."""
    if isinstance(error, FileNotFoundError):
        return NotReadError(Oddity(shown(path), None, "was deleted while the folder was read", Grade.NOTE))
    return NotReadError(
        Oddity(shown(path), None, f"cannot be read: {(error.strerror or 'error').lower()}", Grade.UNREAD)
    )


def read_small(path: Path, most: int) -> bytes:
    """Returns the content of a file that is small in Kafka.

    Raises NotReadError, also if it has more than `most` bytes.
    """
    with DiskFile(path) as file:
        if file.size > most:
            what = f"has {file.size} bytes, too large for such a file: not read"
            raise NotReadError(Oddity(file.name, None, what, Grade.UNREAD))
        return file.read(0, most)


def shown(path: Path) -> str:
    """Returns a path as printable text, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
