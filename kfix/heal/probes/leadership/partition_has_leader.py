"""A leader is recorded, which is registered and in the ISR."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.probes.base import state_probe


def _rule(_args: Args, reading: PartitionReading) -> bool | None:
    if reading.leaderless is None or reading.state is None:
        return None
    return not reading.leaderless and reading.state.leader in reading.state.isr


PROBE = state_probe(
    "partition_has_leader",
    "the recorded leader is registered and in the ISR",
    "a registered leader that is in the ISR",
    _rule,
)
