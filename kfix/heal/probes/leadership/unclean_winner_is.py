"""The broker is the one that an unclean election elects: the first live replica in assignment order.

Kafka does not compare the logs: only the order of the assignment decides which replica wins (docs/facts/controller.md).
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import gaps


def _rule(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    broker = args.number("broker")
    wanted = f"broker {broker} the first registered one of the assignment"
    if reading.assignment is None or reading.registered is None:
        return judge(None, gaps(reading, "assignment or registrations unknown"), wanted)
    live = [b for b in reading.assignment.replicas if b in reading.registered]
    observed = f"assignment {ids(reading.assignment.replicas)}, registered of them {ids(live)}"
    return judge(live[:1] == [broker], observed, wanted)


PROBE = partition_probe(
    "unclean_winner_is",
    "the broker is the first live replica in assignment order",
    _rule,
    facts=("assignment", "live_replicas"),
    broker=ArgKind.BROKER,
)
