"""When replicas are removed, enough of the remaining ones are alive and in sync: producers with acks=all can write.

A remaining replica on a dead broker blocks the whole move: it ends only when every replica of the target is in sync.
Added replicas count: none is removed before they are in sync.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.isr.min_isr_satisfied import KEY, min_isr
from kfix.heal.probes.words import state_words


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    replicas = args.brokers("replicas")
    # Any of those that stay may lead, now or after the next election.
    heirs = [b for b in replicas if b in (reading.registered or ())]
    least, shown = min_isr(reader, args.tp().topic, heirs, len(replicas))
    wanted = f"of {ids(replicas)} at least {'an unknown number' if least is None else max(least, 1)} in sync, none dead"
    live, assigned = reading.live_isr, reading.assignment
    if least is None or live is None or assigned is None or reading.registered is None:
        return judge(None, f"{state_words(reading)}, {KEY} {shown}", wanted)
    dead = [b for b in replicas if b not in reading.registered]
    good = [b for b in replicas if b in live or b not in assigned.replicas]
    observed = f"{state_words(reading)}; {ids(good)} of {ids(replicas)}" + (f", {ids(dead)} dead" if dead else "")
    return judge(not dead and len(good) >= max(least, 1), observed, wanted)


PROBE = partition_probe(
    "enough_stay",
    "of the remaining replicas none is dead and min.insync.replicas are in sync",
    _rule,
    replicas=ArgKind.BROKERS,
)
