"""The broker is the recorded leader, and it is registered."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading, broker = reader.recorded(args.tp()), args.number("broker")
    good = None
    if reading.state is not None and reading.leaderless is not None:
        good = not reading.leaderless and reading.state.leader == broker
    return judge(good, state_words(reading), f"broker {broker} registered and leader")


PROBE = Probe(
    name="leader_is",
    summary="the broker is the recorded leader and is registered",
    params={"partition": ArgKind.PARTITION, "broker": ArgKind.BROKER},
    ask=ask,
)
