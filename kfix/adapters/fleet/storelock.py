"""One audit a store at a time, on this host: cron that overlaps itself waits for nobody, and says who is at work.

The lock is on a file of the user's state folder, so that it works for a store on S3 too; it goes with the process,
however that ends. Audits of another host are not seen: they write runs of their own, and harm none.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from kfix.adapters.fleet.places import StoreLocation
from kfix.errors import HeldError, UsageError
from kfix.private import open_private, private_folder


@contextmanager
def store_lock(folder: Path, store: StoreLocation) -> Iterator[None]:
    """`folder` is kfix's state folder. HeldError (exit code 9) where another audit of this store is at work."""
    whole = os.path.realpath(store.path) if store.local else store.path.rstrip("/")
    name = hashlib.sha256(whole.encode()).hexdigest()[:16]
    path = folder / "audits" / f"{name}.lock"
    try:
        private_folder(path.parent, folder)
        handle = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UsageError(f"{path}: the lock cannot be taken: {error.strerror}") from None
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = " ".join(file.read(200).split())
            raise HeldError(
                f"{store}: another audit is at work{f': {who}' if who else ''}",
                hint="let it end; the lock goes with its process",
            ) from None
        with suppress(OSError):
            file.truncate(0)
            file.write(f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n")
            file.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)
