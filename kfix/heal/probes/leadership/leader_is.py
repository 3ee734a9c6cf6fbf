"""The broker is the recorded leader, and it is registered."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.probes.base import state_probe


def _rule(args: Args, reading: PartitionReading) -> bool | None:
    if reading.state is None or reading.leaderless is None:
        return None
    return not reading.leaderless and reading.state.leader == args.number("broker")


PROBE = state_probe(
    "leader_is",
    "the broker is the recorded leader and is registered",
    "broker {broker} registered and leader",
    _rule,
    broker=ArgKind.BROKER,
)
