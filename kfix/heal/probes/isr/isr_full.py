"""Every assigned replica is in sync."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import gaps

_WANTED = "ISR = replicas"


def _rule(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    isr, assignment = reading.isr, reading.assignment
    if isr is None or assignment is None:
        return judge(None, gaps(reading, "state or assignment unknown"), _WANTED)
    full = set(isr) == set(assignment.replicas)
    return judge(full, f"ISR {list(isr)} of {list(assignment.replicas)}", _WANTED)


PROBE = partition_probe("isr_full", "all assigned replicas are in the ISR", _rule)
