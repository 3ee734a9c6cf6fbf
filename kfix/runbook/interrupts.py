"""Ctrl-C, or the end of the terminal, never falls between a change and the record of what it gave: it waits for that.

A second Ctrl-C does not wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held_back() -> Iterator[None]:
    """Only the main thread receives signals; elsewhere there is nothing to hold back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def later(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = {number: signal.signal(number, later) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """The end of the terminal or of the job ends a run in order, as Ctrl-C does: throttles are put back first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
