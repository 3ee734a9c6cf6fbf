"""Allows one audit, prune or demo per store at a time, from whatever host and user. The lock lies with the store.

On a file system it is a lock of the operating system on the file `<root>/lock`: it ends with its process, and holds on
a shared file system as well. Elsewhere it is a lease (`lease`): it is renewed while its process is alive, and another
process takes it over once it has expired.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from kfix.core.errors import HeldError, UsageError
from kfix.core.private import make_folders, open_private
from kfix.fleet.store.lease import held_lease
from kfix.fleet.store.places import StoreLocation, is_folder, place_of
from kfix.fleet.store.whoami import this_process

LOCK: Final = "lock"


@contextmanager
def store_lock(store: StoreLocation) -> Iterator[None]:
    """Holds the lock of the store. Raises HeldError (exit code 9) if another process has it; it names the holder."""
    with _file_lock(store) if store.local else held_lease(store):
        yield


@contextmanager
def locked(store: str, *, creates: bool = False) -> Iterator[None]:
    """Holds the lock of the store.

    Raises HeldError if another process uses this store, UsageError if it does not exist, unless `creates` is set.
    """
    place = place_of(store)
    if not creates and not is_folder(place):
        raise UsageError(f"{store}: there is no fleet store", hint="kfix fleet collect creates one")
    with store_lock(place):
        yield


@contextmanager
def _file_lock(store: StoreLocation) -> Iterator[None]:
    path = Path(os.path.realpath(store.path)) / LOCK
    try:
        make_folders(path.parent)
        handle = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UsageError(f"{path}: cannot take the lock: {error.strerror}") from None
    with os.fdopen(handle, "r+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = " ".join(file.read(300).split())
            raise HeldError(
                f"{store}: another audit is running{f': {who}' if who else ''}",
                hint="wait for it to end; the lock ends with its process",
            ) from None
        except OSError as error:
            raise UsageError(f"{path}: cannot take the lock: {error.strerror}") from None
        with suppress(OSError):
            file.truncate(0)
            file.write(f"{this_process().words}\n")
            file.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)
