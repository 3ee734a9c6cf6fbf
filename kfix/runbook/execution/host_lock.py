"""One run a cluster at a time, on this host: an exclusive lock on a file that also says who holds it.

Operators on other hosts are not seen; the runbook's own look at reassignments and the facts re-read before each change
are what guards against them.
"""

from __future__ import annotations

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

from kfix.errors import HeldError, RefusedError
from kfix.model.cluster.holder import held_error, parse_holder
from kfix.private import open_private, private_folder

_LOOKS, _LOOK_SECONDS = 20, 0.02
_END = "\n"


@contextmanager
def cluster_lock(folder: Path, cluster: str, holder: Mapping[str, str]) -> Iterator[None]:
    """Takes the lock. The file stays; the lock goes with the process, however that ends.

    `folder` is a folder of its own below kfix's state folder. Raises RefusedError where the file is not private.
    """
    path = folder / f"{quote(cluster, safe='')}.lock"
    try:
        private_folder(folder, folder.parent)
        handle = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise RefusedError(f"{path}: the lock cannot be taken: {error.strerror}; nothing was changed") from error
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _held(cluster, _who(file)) from error
        try:
            _write(handle, json.dumps(dict(holder)) + _END)
        except OSError as error:
            raise RefusedError(f"{path}: the lock cannot be written: {error.strerror}; nothing was changed") from error
        try:
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)


def _write(handle: int, text: str) -> None:
    """Without a buffer: what a full disk does not take must not be written once more when the file is closed."""
    os.ftruncate(handle, 0)
    data = text.encode()
    if os.pwrite(handle, data, 0) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _who(file: TextIO) -> str:
    """Who has just got the lock writes its name a moment later; until then the file is empty or says who had it."""
    text = ""
    for _ in range(_LOOKS):
        time.sleep(_LOOK_SECONDS)
        file.seek(0)
        text = file.read()
        if text.endswith(_END):
            break
    return text


def _held(cluster: str, text: str) -> HeldError:
    return held_error(
        cluster, parse_holder(text), where="this host", hint="wait for it, or look with kfix runbook history"
    )
