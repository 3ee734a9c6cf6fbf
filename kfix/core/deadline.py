"""One deadline for all requests of a snapshot: no source takes longer than the remaining time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kfix.core.errors import NoAnswerError


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, in seconds."""

    ends: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    def require(self, doing: str) -> float:
        """Returns the remaining seconds, more than a millisecond, since 0 would make a socket non-blocking.

        Raises NoAnswerError if the deadline has passed.
        """
        left = self.left
        if left <= 0.001:
            raise NoAnswerError(f"{doing}: no answer in time")
        return left

    def within(self, seconds: float) -> Deadline:
        return Deadline(min(self.ends, time.monotonic() + seconds))
