"""Ctrl-C, or the end of the terminal, never falls between a change and the record of what it gave: it waits for that.

A second Ctrl-C does not wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """The end of the terminal or of the job: it ends a run as Ctrl-C does, and there is nobody to ask."""


@contextmanager
def held_back(*, always: bool = False) -> Iterator[None]:
    """Only the main thread receives signals; elsewhere there is nothing to hold back. May be nested.

    `always`: of what takes no time, such as a line on the disk, the second one waits for the end as well.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def later(number: int, _frame: FrameType | None) -> None:
        if asked and not always:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, later) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for end in asked:
        _deliver(before[signal.Signals(end)], end)


def _deliver(handler: Handler, number: int) -> None:
    """To whoever was in charge before: held back further, an interrupt, or nothing where it is ignored."""
    if callable(handler):
        handler(number, None)
    elif handler is not signal.SIG_IGN:
        raise KeyboardInterrupt


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """The end of the terminal or of the job ends a run in order, as Ctrl-C does, but nobody is asked anything."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
