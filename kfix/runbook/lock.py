"""One run a cluster at a time, on this host: an exclusive lock on a file that also says who holds it.

Operators on other hosts are not seen; the runbook's own look at reassignments and the facts re-read before each change
are what guards against them.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from kfix.errors import HeldError, RefusedError
from kfix.model.holder import held_error, parse_holder


@contextmanager
def cluster_lock(folder: Path, cluster: str, holder: Mapping[str, str]) -> Iterator[None]:
    """The file stays; the lock goes with the process, however that ends."""
    path = folder / f"{quote(cluster, safe='')}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RefusedError(f"{path}: the lock cannot be taken: {error.strerror}; nothing was changed") from error
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _held(cluster, file.read()) from error
        try:
            file.truncate(0)
            file.seek(0)
            json.dump(dict(holder), file)
            file.flush()
        except OSError as error:
            raise RefusedError(f"{path}: the lock cannot be written: {error.strerror}; nothing was changed") from error
        yield


def _held(cluster: str, text: str) -> HeldError:
    return held_error(
        cluster, parse_holder(text), where="this host", hint="wait for it, or look with kfix runbook history"
    )
