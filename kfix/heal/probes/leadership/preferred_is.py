"""The broker is the preferred replica, the first of the assignment: the one that a preferred election elects."""

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
    wanted = f"broker {broker} first in the assignment"
    if reading.assignment is None or not reading.assignment.replicas:
        return judge(None, gaps(reading, "no assignment"), wanted)
    return judge(reading.assignment.replicas[0] == broker, f"assignment {ids(reading.assignment.replicas)}", wanted)


PROBE = partition_probe("preferred_is", "the broker is the first of the assignment", _rule, broker=ArgKind.BROKER)
