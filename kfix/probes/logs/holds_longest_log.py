"""The broker's log holds that of every other live replica, so that nobody throws a record away who follows it."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.logs.compare import holds
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    tp, broker = args.tp(), args.number("broker")
    reading = reader.recorded(tp)
    wanted = f"the log of broker {broker} holds those of all live replicas"
    if reading.assignment is None or reading.registered is None:
        return judge(None, state_words(reading), wanted)
    return holds(reader, tp, broker, set(reading.assignment.replicas) & reading.registered, wanted)


PROBE = Probe(
    name="holds_longest_log",
    summary="the broker's log holds that of every other live replica",
    params={"partition": ArgKind.PARTITION, "broker": ArgKind.BROKER},
    ask=ask,
)
