"""Both locks of a run: this host's, and the one in the cluster's ZooKeeper, if that can be taken."""

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from kfix.core.errors import HeldError, RefusedError, UnreachableError
from kfix.core.private import open_private, private_folder
from kfix.core.snapshot.holder import held_error, parse_holder
from kfix.core.wording import utc_iso
from kfix.heal.execution.context import Context, Locked
from kfix.heal.journal.journal import as_ctrl_c
from kfix.heal.model.plan import Plan

# At most one run per cluster on this host: an exclusive lock on a file that also names its holder.
#
# The lock does not exclude operators on other hosts. The lock in ZooKeeper does, and facts are read again before each
# change.

_READS, _READ_SECONDS = 20, 0.02
_END = "\n"


@contextmanager
def cluster_lock(folder: Path, cluster: str, holder: Mapping[str, str]) -> Iterator[None]:
    """Holds the lock of `cluster` for a `with` block. The file stays; the lock ends with the process.

    `folder` is a folder of its own below kfix's state folder. Raises RefusedError if the file is not private or cannot
    be written, and HeldError, which names the holder, if another run holds the lock.
    """
    path = folder / f"{quote(cluster, safe='')}.lock"
    try:
        private_folder(folder, folder.parent)
        handle = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise RefusedError(f"{path}: cannot take the lock: {error.strerror}; nothing was changed") from error
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _held(cluster, _who(file)) from error
        try:
            _write(handle, json.dumps(dict(holder)) + _END)
        except OSError as error:
            raise RefusedError(f"{path}: cannot write the lock: {error.strerror}; nothing was changed") from error
        try:
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)


def _write(handle: int, text: str) -> None:
    """Writes without a buffer: on a full disk a buffer would be written again when the file is closed."""
    os.ftruncate(handle, 0)
    data = text.encode()
    if os.pwrite(handle, data, 0) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _who(file: TextIO) -> str:
    """Returns the holder's entry. A new holder writes it a moment after it got the lock, so it is read repeatedly."""
    text = ""
    for _ in range(_READS):
        time.sleep(_READ_SECONDS)
        file.seek(0)
        text = file.read()
        if text.endswith(_END):
            break
    return text


def _held(cluster: str, text: str) -> HeldError:
    return held_error(
        cluster,
        parse_holder(text),
        where="this host",
        hint="wait for it to end; kfix runbook history shows its progress",
    )


_HOST_ONLY = "kfix on this host and this state folder only"


@contextmanager
def locked(plan: Plan, context: Context, who: Mapping[str, object], doing: str) -> Iterator[Locked]:
    """Takes both locks for a `with` block. Raises HeldError, which names the holder and its host."""
    holder = {
        "user": str(who["user"]),
        "host": str(who["host"]),
        "pid": str(who["pid"]),
        "plan": plan.short_id,
        "run": doing,
        "since": utc_iso(context.clock.now()),
    }
    with as_ctrl_c(), cluster_lock(context.store.locks_dir, plan.cluster.name, holder):
        lock, why = context.lock, "no cluster lock is configured"
        if lock is not None:
            try:
                lock.take(holder)
            except UnreachableError as error:
                lock, why = None, str(error)
        if lock is None:
            yield Locked(_HOST_ONLY, None, why)
            return
        try:
            yield Locked(lock.scope, lock)
        finally:
            lock.release()
