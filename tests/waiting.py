"""How long tests wait: every time-out is multiplied by `KFIX_TEST_PATIENCE`, and one loop waits for a state."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import TypeVar

from kfix.core.errors import UnreachableError

T = TypeVar("T")

#: More than 1 on a machine that is slow or shared.
PATIENCE = float(os.environ.get("KFIX_TEST_PATIENCE", "1"))


def seconds(number: float) -> float:
    """The time-out of a process, a terminal or a test that takes less than `number` seconds on two idle cores."""
    return number * PATIENCE


def wait_until(probe: Callable[..., T], what: str | Callable[[], object], within: float = 15, pause: float = 0.05) -> T:
    """Returns the first true answer of `probe`. A broker that just died, and that not all know to be dead, is none."""
    ends = time.monotonic() + seconds(within)
    while True:
        with contextlib.suppress(UnreachableError):
            if answer := probe():
                return answer
        assert time.monotonic() < ends, f"not within {within} s: {what() if callable(what) else what}"
        time.sleep(pause)
