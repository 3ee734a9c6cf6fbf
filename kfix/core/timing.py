"""The times that every diagnosis uses unless an option says otherwise: one place for their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Timing:
    """All in seconds.

    `restart_grace`: a broker that left or came back less than this ago may be restarting. `debounce`: a fault that an
    ordinary election also shows must last this long. `pace`: the time between two snapshots that only measure how fast
    replicas move. `transaction_grace`: a transaction that has been open for less than this may end by itself.
    """

    restart_grace: float = 120.0
    debounce: float = 10.0
    pace: float = 3.0
    transaction_grace: float = 60.0


TIMING: Final = Timing()
#: Two clocks that differ by less (seconds) agree: under load, the time of an answer is not more precise.
CLOCKS_AGREE: Final = 2.0


def clocks_apart(ahead: float) -> int:
    """Returns by how many whole seconds one clock is ahead of another; 0 if they agree."""
    return round(ahead) if abs(ahead) >= CLOCKS_AGREE else 0


@dataclass(frozen=True, slots=True)
class DiagnosisTimes:
    """The times of a plan's diagnosis, in seconds as in `Timing`: with other times it may find nothing."""

    debounce: float = TIMING.debounce
    restart_grace: float = TIMING.restart_grace
    transaction_grace: float = TIMING.transaction_grace

    def options(self) -> list[str]:
        """Returns the options that repeat it, as words of a command to paste; the inventory has the restart grace."""
        named = {
            "--debounce": (self.debounce, TIMING.debounce),
            "--transaction-grace": (self.transaction_grace, TIMING.transaction_grace),
        }
        return [word for option, (own, usual) in named.items() if own != usual for word in (option, f"{own:g}")]
