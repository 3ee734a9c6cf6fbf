"""So many replicas are in sync and alive. A dead broker that Kafka still lists in the ISR holds nothing up."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading, wanted = reader.recorded(args.tp()), args.number("n")
    live = reading.live_isr
    good = None if live is None else len(live) >= wanted
    return judge(good, state_words(reading), f"at least {wanted} registered members of the ISR")


PROBE = Probe(
    name="isr_at_least",
    summary="at least so many live replicas are in sync",
    params={"partition": ArgKind.PARTITION, "n": ArgKind.INT},
    ask=ask,
)
