"""ZooKeeper records a leader, it is registered, and it is in the ISR."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    good = (
        None
        if reading.leaderless is None or reading.state is None
        else (not reading.leaderless and reading.state.leader in reading.state.isr)
    )
    return judge(good, state_words(reading), "a registered leader that is in the ISR")


PROBE = Probe(
    name="partition_has_leader",
    summary="the recorded leader is registered and in the ISR",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
