"""The broker is the one whom Kafka elects uncleanly: the first live replica in assignment order (kafka-facts B8).

Kafka does not look for the longest log; only the order of the assignment chooses the survivor.
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import about
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids
from kfix.probes.base import Probe


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading, broker = reader.recorded(args.tp()), args.number("broker")
    wanted = f"broker {broker} the first registered one of the assignment"
    if reading.assignment is None or reading.registered is None:
        return judge(None, "; ".join(reading.errors) or "assignment or registrations unknown", wanted)
    live = [b for b in reading.assignment.replicas if b in reading.registered]
    observed = f"assignment {ids(reading.assignment.replicas)}, registered of them {ids(live)}"
    return judge(live[:1] == [broker], observed, wanted)


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "assignment", "live_replicas")


PROBE = Probe(
    name="unclean_winner_is",
    summary="the broker is the first live replica in assignment order",
    params={"partition": ArgKind.PARTITION, "broker": ArgKind.BROKER},
    reads=reads,
    ask=ask,
)
