"""At least n replicas are in sync and registered. A dead broker that Kafka still lists in the ISR does not count."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.probes.base import state_probe


def _rule(args: Args, reading: PartitionReading) -> bool | None:
    return None if reading.live_isr is None else len(reading.live_isr) >= args.number("n")


PROBE = state_probe(
    "isr_at_least",
    "at least n live replicas are in sync",
    "at least {n} registered members of the ISR",
    _rule,
    n=ArgKind.INT,
)
