"""The folder of a ring: its segment files, its lock, and the few calls that change a file."""

import contextlib
import fcntl
import os
import re
from pathlib import Path
from typing import Final

from kfix.core.documents.opening import read_file
from kfix.core.errors import HeldError, UsageError
from kfix.core.private import open_private, private_folder

_SEGMENT: Final = re.compile(r"segment-(\d{12})\.kfr")
_LOCK: Final = "lock"
_SHOWN: Final = 60


class SegmentFiles:
    """The calls that change files of the ring; a test that kills kfix at each of them overrides them."""

    def create(self, path: Path) -> int:
        return open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def open(self, path: Path) -> int:
        return open_private(path, os.O_RDWR)

    def write(self, handle: int, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            done = os.pwrite(handle, view, offset)
            view, offset = view[done:], offset + done

    def cut(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def segments(folder: Path) -> list[Path]:
    """Returns the segment files, oldest first. Raises UsageError if the folder cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if _SEGMENT.fullmatch(path.name))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {(error.strerror or '').lower()}") from None


def segment_path(folder: Path, sequence: int) -> Path:
    return folder / f"segment-{sequence:012d}.kfr"


def sequence_of(path: Path) -> int:
    """Returns the sequence of the first record of a segment file."""
    return int(path.stem.removeprefix("segment-"))


def prepare(folder: Path) -> None:
    """Creates the folder, or makes it private. Raises UsageError if it holds anything but a recording."""
    try:
        foreign = [p.name for p in folder.iterdir() if p.name != _LOCK and not _SEGMENT.fullmatch(p.name)]
    except FileNotFoundError:
        foreign = []
    except OSError as error:
        raise UsageError(f"--recorder {folder}: {(error.strerror or '').lower()}") from None
    if foreign:
        raise UsageError(
            f"--recorder {folder}: is not the folder of a recorder: it contains {min(foreign)[:_SHOWN]!r}",
            hint="give a folder of its own; it is created if it does not exist",
        )
    try:
        private_folder(folder, variable="--recorder")
    except OSError as error:
        raise UsageError(f"--recorder {folder}: {error.strerror}") from None


def lock(folder: Path) -> int:
    """Returns a descriptor that holds the lock of the ring until it is closed, or its process ends.

    Raises HeldError if another watch records in the folder, UsageError if the lock cannot be taken.
    """
    try:
        # Locks the folder itself, and not a file in it, which anybody may delete and create again.
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"--recorder {folder}: cannot take the lock: {error.strerror}") from None
    named = folder / _LOCK
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        holder = ""
        with contextlib.suppress(OSError, UsageError):
            holder = read_file(named, 32).decode("ascii", "replace").strip()
        raise HeldError(
            f"--recorder {folder}: another watch records there{f' (process {holder})' if holder.isdecimal() else ''}",
            hint="give another folder, or leave out --recorder to watch without recording",
        ) from None
    with (
        contextlib.suppress(OSError),  # Only the number for the message is lost.
        os.fdopen(open_private(named, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb", buffering=0) as file,
    ):
        file.write(str(os.getpid()).encode())
    return handle
