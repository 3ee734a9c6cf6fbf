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

_BLANK: Mapping[str, str] = {}


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
            raise _held(cluster, _holder(file.read())) from error
        try:
            file.truncate(0)
            file.seek(0)
            json.dump(dict(holder), file)
            file.flush()
        except OSError as error:
            raise RefusedError(f"{path}: the lock cannot be written: {error.strerror}; nothing was changed") from error
        yield


def _holder(text: str) -> Mapping[str, str]:
    try:
        data = json.loads(text)
    except ValueError:
        return _BLANK
    return data if isinstance(data, dict) else _BLANK


def _held(cluster: str, holder: Mapping[str, str]) -> HeldError:
    who = f"{holder.get('user', 'somebody')} (process {holder.get('pid', '?')} on {holder.get('host', 'this host')})"
    text = (
        f"{cluster} is held by {who} since {holder.get('since', '?')}: "
        f"run {holder.get('run', '?')}, plan {holder.get('plan', '?')}; nothing was changed"
    )
    return HeldError(text, hint="wait for it, or look with kfix runbook history")
