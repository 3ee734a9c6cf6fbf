"""The leader is the first of the assignment, and it is registered."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    order = () if reading.assignment is None else reading.assignment.replicas
    good = None
    if reading.state is not None and reading.leaderless is not None and order:
        good = not reading.leaderless and reading.state.leader == order[0]
    observed = f"{state_words(reading)}, assignment {ids(order) if order else 'unknown'}"
    return judge(good, observed, "the first of the assignment registered and leader")


PROBE = Probe(
    name="leader_is_preferred",
    summary="the leader is the preferred one and is registered",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
