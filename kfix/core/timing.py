"""The times that every diagnosis uses unless an option says otherwise: one place for their defaults."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from kfix.core.errors import NoAnswerError

# One deadline for all requests of a snapshot: no source takes longer than the remaining time.


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


@dataclass(frozen=True, slots=True)
class DiagnosisTimes:
    """The times of a diagnosis, in seconds. A plan has those it rests on: with others it may find nothing.

    `debounce`: a fault that an ordinary election also shows must last this long. `restart_grace`: a broker that left or
    came back less than this ago may be restarting. `transaction_grace`: a transaction that has been open for less than
    this may end by itself.
    """

    debounce: float = 10.0
    restart_grace: float = 120.0
    transaction_grace: float = 60.0

    def options(self) -> list[str]:
        """Returns the options that repeat it, as words of a command to paste; the inventory has the restart grace."""
        named = {
            "--debounce": (self.debounce, TIMING.debounce),
            "--transaction-grace": (self.transaction_grace, TIMING.transaction_grace),
        }
        return [word for option, (own, usual) in named.items() if own != usual for word in (option, f"{own:g}")]


TIMING: Final = DiagnosisTimes()
#: The seconds between two snapshots that only measure how fast replicas move.
PACE: Final = 3.0
#: Two clocks that differ by less (seconds) agree: the time of an answer is not known better under load.
CLOCKS_AGREE: Final = 2.0


def clocks_apart(ahead: float) -> int:
    """Returns by how many whole seconds one clock is ahead of another; 0 if they agree."""
    return round(ahead) if abs(ahead) >= CLOCKS_AGREE else 0
