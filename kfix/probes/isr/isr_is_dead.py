"""No leader and no live in-sync replica: only then does an election outside the ISR win anything.

While one member of the ISR is alive it holds every acknowledged record, and electing anybody else would be wrong.
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import about
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    live, leaderless = reading.live_isr, reading.leaderless
    good = None if live is None or leaderless is None else leaderless and not live
    return judge(good, state_words(reading), "no leader and no registered member of the ISR")


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "leader", "isr", "live_isr")


PROBE = Probe(
    name="isr_is_dead",
    summary="there is no leader, and no member of the ISR is registered",
    params={"partition": ArgKind.PARTITION},
    reads=reads,
    ask=ask,
)
