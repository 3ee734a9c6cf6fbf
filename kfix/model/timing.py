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
