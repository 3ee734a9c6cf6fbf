"""At least one in-sync replica is registered: with it no election can lose an acknowledged record."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import about
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    live = reading.live_isr
    return judge(None if live is None else bool(live), state_words(reading), "a registered member of the ISR")


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "isr", "live_isr")


PROBE = Probe(
    name="partition_has_live_isr",
    summary="a member of the ISR is registered in ZooKeeper",
    params={"partition": ArgKind.PARTITION},
    reads=reads,
    ask=ask,
)
