"""Waiting with a deadline for a condition, never for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

from kfix.core.errors import LabError

T = TypeVar("T")
POLL_SECONDS = 0.06


def wait_for(what: str, probe: Callable[[], T | None], seconds: float, hint: str = "") -> T:
    """Returns the first result of `probe` that is neither None nor False. Raises LabError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = probe()
        if answer is not None and answer is not False:
            return answer
        if time.monotonic() > deadline:
            raise LabError(
                f"not within {seconds:.0f} s: {what}", hint=hint or "kfix lab status shows which processes are alive"
            )
        time.sleep(POLL_SECONDS)
