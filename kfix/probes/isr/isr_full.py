"""Every assigned replica is in sync."""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import Args
from kfix.ports import ClusterReader
from kfix.probes.base import partition_probe
from kfix.probes.words import gaps

_WANTED = "ISR = replicas"


def _rule(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    isr, assignment = reading.isr, reading.assignment
    if isr is None or assignment is None:
        return judge(None, gaps(reading, "state or assignment unknown"), _WANTED)
    full = set(isr) == set(assignment.replicas)
    return judge(full, f"ISR {list(isr)} of {list(assignment.replicas)}", _WANTED)


PROBE = partition_probe("isr_full", "all assigned replicas are in the ISR", _rule)
