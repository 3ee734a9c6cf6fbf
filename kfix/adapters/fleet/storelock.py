"""Allows one audit per store at a time on this host. An overlapping cron job exits at once and names the holder.

The lock is held on a file in the user's state folder, so that it works for a store on S3 as well; the kernel releases
it when the process ends. Audits of other hosts are not locked out: they write runs of their own and do no harm.
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
    """`folder` is kfix's state folder. Raises HeldError (exit code 9) if another audit of this store is running."""
    whole = os.path.realpath(store.path) if store.local else store.path.rstrip("/")
    name = hashlib.sha256(whole.encode()).hexdigest()[:16]
    path = folder / "audits" / f"{name}.lock"
    try:
        private_folder(path.parent, folder)
        handle = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UsageError(f"{path}: cannot take the lock: {error.strerror}") from None
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = " ".join(file.read(200).split())
            raise HeldError(
                f"{store}: another audit is running{f': {who}' if who else ''}",
                hint="wait for it to end; the lock ends with its process",
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
