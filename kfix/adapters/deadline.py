"""One deadline shared by every question of a look: no source may take more than what is left."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kfix.errors import UnreachableError


@dataclass(frozen=True, slots=True)
class Deadline:
    """`ends` is on the monotonic clock, in seconds."""

    ends: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    def require(self, doing: str) -> float:
        """Seconds left, at least a millisecond; past the end it raises, since a socket reads 0 as "non-blocking"."""
        left = self.left
        if left <= 0.001:
            raise UnreachableError(f"{doing}: no answer in time")
        return left

    def within(self, seconds: float) -> Deadline:
        return Deadline(min(self.ends, time.monotonic() + seconds))
