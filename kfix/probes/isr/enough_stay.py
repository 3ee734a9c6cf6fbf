"""Where replicas go, enough of those that stay are alive and in sync: producers with acks=all can go on.

A replica that stays and is on a dead broker holds the whole move up: it ends only when all of the target are in sync.
Replicas that are added count: none goes before they are in sync.
"""

from __future__ import annotations

from kfix.model.cluster.reading import ResourceKind
from kfix.model.numbers import whole_number
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.assignments import ids
from kfix.probes.base import Probe
from kfix.probes.isr.min_isr_satisfied import KEY
from kfix.probes.words import state_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    tp, replicas = args.tp(), args.brokers("replicas")
    reading = reader.recorded(tp)
    demanded = reader.configs(ResourceKind.TOPIC, tp.topic, (KEY,)).get(KEY)
    text = None if demanded is None else demanded.value
    least = whole_number(text) if text is not None else None
    wanted = f"of {ids(replicas)} at least {'an unknown number' if least is None else max(least, 1)} in sync, none dead"
    live, assigned = reading.live_isr, reading.assignment
    if least is None or live is None or assigned is None or reading.registered is None:
        return judge(None, f"{state_words(reading)}, {KEY} {text or 'unknown'}", wanted)
    dead = [b for b in replicas if b not in reading.registered]
    good = [b for b in replicas if b in live or b not in assigned.replicas]
    observed = f"{state_words(reading)}; {ids(good)} of {ids(replicas)}" + (f", {ids(dead)} dead" if dead else "")
    return judge(not dead and len(good) >= max(least, 1), observed, wanted)


PROBE = Probe(
    name="enough_stay",
    summary="of the replicas that are to be left, none is dead and min.insync.replicas are in sync",
    params={"partition": ArgKind.PARTITION, "replicas": ArgKind.BROKERS},
    ask=ask,
)
