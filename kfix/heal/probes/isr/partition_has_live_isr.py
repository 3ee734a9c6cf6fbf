"""At least one in-sync replica is registered: with it no election can lose an acknowledged record."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.probes.base import state_probe


def _rule(_args: Args, reading: PartitionReading) -> bool | None:
    return None if reading.live_isr is None else bool(reading.live_isr)


PROBE = state_probe(
    "partition_has_live_isr",
    "a member of the ISR is registered",
    "a registered member of the ISR",
    _rule,
    facts=("isr", "live_isr"),
)
