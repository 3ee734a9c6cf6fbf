"""The broker is the first of the assignment: the one that a preferred election elects."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids
from kfix.probes.base import Probe


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading, broker = reader.recorded(args.tp()), args.number("broker")
    wanted = f"broker {broker} first in the assignment"
    if reading.assignment is None or not reading.assignment.replicas:
        return judge(None, "; ".join(reading.errors) or "no assignment", wanted)
    return judge(reading.assignment.replicas[0] == broker, f"assignment {ids(reading.assignment.replicas)}", wanted)


PROBE = Probe(
    name="preferred_is",
    summary="the broker is the first of the assignment",
    params={"partition": ArgKind.PARTITION, "broker": ArgKind.BROKER},
    ask=ask,
)
