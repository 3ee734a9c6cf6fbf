"""Waiting with a deadline for what is true of a cluster, never for time to pass."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from kfix.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
POLL_SECONDS = 0.06


def wait_for(what: str, probe: Callable[[], T | None], seconds: float, hint: str = "") -> T:
    """The first answer of `probe` that is neither None nor False."""
    deadline = time.monotonic() + seconds
    while True:
        answer = probe()
        if answer is not None and answer is not False:
            return answer
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:.0f} s in vain: {what}", hint=hint or "kfix lab status tells who is alive")
        time.sleep(POLL_SECONDS)
