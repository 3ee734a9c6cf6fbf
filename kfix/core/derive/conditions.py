"""The conditions of a partition that more than one place asks about, as texts of `predicate`.

Checks, the table `topics` of the fleet store and the history that is counted from it are made of the same text, so
that they cannot judge one partition in two ways.
"""

from __future__ import annotations

from typing import Final

#: It has no leader, or one that is known to be dead.
LEADERLESS: Final = "leaderless and not deleting"
_LED: Final = "leader >= 0 and not leaderless and zk_agrees and not deleting"
#: acks=all fails at its leader.
UNDER_MIN_ISR: Final = f"n_isr < min_isr and {_LED}"
#: Its ISR lacks a replica, and not one that a reassignment is adding.
UNDER_REPLICATED: Final = f"n_isr < target_rf and {_LED}"
