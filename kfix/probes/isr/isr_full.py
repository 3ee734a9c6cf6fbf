"""Every assigned replica is in sync."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    isr, assignment = reading.isr, reading.assignment
    if isr is None or assignment is None:
        return judge(None, "; ".join(reading.errors) or "state or assignment unknown", "isr = replicas")
    return judge(
        set(isr) == set(assignment.replicas), f"isr {list(isr)} of {list(assignment.replicas)}", "isr = replicas"
    )


PROBE = Probe(
    name="isr_full", summary="all assigned replicas are in the ISR", params={"partition": ArgKind.PARTITION}, ask=ask
)
