"""Producers with acks=all can write: a leader, and as many in sync as `min.insync.replicas` of the topic demands."""

from __future__ import annotations

from kfix.model.cluster.reading import ResourceKind
from kfix.model.numbers import whole_number
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words

KEY = "min.insync.replicas"


def ask(args: Args, reader: ClusterReader) -> Answer:
    tp = args.tp()
    reading = reader.recorded(tp)
    demanded = reader.configs(ResourceKind.TOPIC, tp.topic, (KEY,)).get(KEY)
    text = None if demanded is None else demanded.value
    least = whole_number(text) if text is not None else None
    wanted = f"a leader and at least {'an unknown number of' if least is None else least} in sync ({KEY})"
    live = reading.live_isr
    if least is None or live is None or reading.leaderless is None:
        return judge(None, f"{state_words(reading)}, {KEY} {text or 'unknown'}", wanted)
    return judge(not reading.leaderless and len(live) >= least, state_words(reading), wanted)


PROBE = Probe(
    name="min_isr_satisfied",
    summary="a leader, and at least min.insync.replicas live replicas in sync",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
