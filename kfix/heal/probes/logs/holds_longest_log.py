"""The broker's log holds that of every other live replica, so that no follower of it truncates a record away."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.logs.compare import holds
from kfix.heal.probes.words import state_words


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    broker = args.number("broker")
    wanted = f"the log of broker {broker} holds those of all live replicas"
    if reading.assignment is None or reading.registered is None:
        return judge(None, state_words(reading), wanted)
    return holds(reader, args.tp(), broker, set(reading.assignment.replicas) & reading.registered, wanted)


PROBE = partition_probe(
    "holds_longest_log", "the broker's log holds that of every other live replica", _rule, broker=ArgKind.BROKER
)
