"""A forked process that reports what it does."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

Report = Callable[[dict[str, Any]], None]
_FORK = multiprocessing.get_context("fork")


def forked(run: Callable[[Report], None], patience: float) -> Iterator[dict[str, Any]]:
    """Runs a function in a fork, and yields what it reports. The fork and all that it started end with the iterator.

    Raises TimeoutError if it reports nothing for `patience` seconds.
    """
    here, there = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_child, args=(run, there))
    child.start()
    there.close()
    try:
        while here.poll(patience):
            yield here.recv()
        raise TimeoutError
    except EOFError:
        return
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()


def _child(run: Callable[[Report], None], there: Connection) -> None:
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nothing, handle)
        run(there.send)
    finally:
        os._exit(0)
