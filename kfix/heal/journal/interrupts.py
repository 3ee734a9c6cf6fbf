"""Holds back Ctrl-C, SIGTERM and SIGHUP between a change and the record of its result; a second one gets through."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: it ends a run as Ctrl-C does, but no question is asked."""


@contextmanager
def held_back(*, always: bool = False) -> Iterator[None]:
    """Delays these signals until the end of a `with` block. Blocks may be nested.

    With `always`, meant for work that takes no time, a second signal is delayed as well. Only the main thread receives
    signals, so other threads are not affected.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def later(number: int, _frame: FrameType | None) -> None:
        if pending and not always:
            raise KeyboardInterrupt
        pending.append(number)

    before = {number: signal.signal(number, later) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for end in pending:
        _deliver(before[signal.Signals(end)], end)


def _deliver(handler: Handler, number: int) -> None:
    """Passes the signal to the previous handler: an outer block, an interrupt, or nothing if it was ignored."""
    if callable(handler):
        handler(number, None)
    elif handler is not signal.SIG_IGN:
        raise KeyboardInterrupt


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """Turns SIGTERM and SIGHUP into `Terminated` for a `with` block, so that the run ends in order."""
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
