"""There is no leader and no live in-sync replica: only then may a replica outside the ISR be elected.

While one member of the ISR is alive it holds every acknowledged record, and electing another replica would lose some.
"""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading
from kfix.model.plan.args import Args
from kfix.probes.base import state_probe


def _rule(_args: Args, reading: PartitionReading) -> bool | None:
    live, leaderless = reading.live_isr, reading.leaderless
    return None if live is None or leaderless is None else leaderless and not live


PROBE = state_probe(
    "isr_is_dead",
    "there is no leader, and no member of the ISR is registered",
    "no leader and no registered member of the ISR",
    _rule,
    facts=("leader", "isr", "live_isr"),
)
