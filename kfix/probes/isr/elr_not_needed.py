"""On KRaft, no partition needs its eligible leader replicas: then min.insync.replicas may be set.

Setting it, even to the same value, makes Kafka 4 forget which replicas of the topic may lead without a loss. A
partition without a leader then stays dead even with all of its brokers back (docs/facts/kraft.md). A partition below
the present value has eligible replicas outside its ISR: only a lower value, which the ISR meets, makes them needless.
ZooKeeper keeps no such replicas.
"""

from __future__ import annotations

from kfix.errors import UnreachableError
from kfix.model.cluster.reading import PartitionReading
from kfix.model.cluster.snapshot import Mode
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.isr.min_isr_satisfied import KEY, min_isr
from kfix.probes.words import state_words

#: Of `n`: the new value is a default that is not known here.
UNKNOWN = -1
_WANTED = f"no partition without a leader, and none below {KEY} that the new value leaves below it"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "ZooKeeper keeps no eligible replicas", _WANTED)
    topic, new = args.text("topic"), args.number("n")
    if topic:
        readings = [reader.recorded(tp) for tp in sorted(reader.assignments(topic))]
    else:
        readings = [each for _, each in sorted(reader.every_partition().items())]
    least = {name: _present(reader, name) for name in sorted({r.tp.topic for r in readings})}
    bad = [r for r in readings if _needs(r, least[r.tp.topic], new)]
    if bad:
        words = f"{bad[0].tp}: {state_words(bad[0])}, {KEY} {least[bad[0].tp.topic]}"
        return judge(False, f"{len(bad)} of {len(readings)} partitions need it; {words}", _WANTED)
    return judge(True, f"{len(readings)} partitions, none needs it", _WANTED)


def _present(reader: ClusterReader, topic: str) -> int:
    least, shown = min_isr(reader, topic)
    if least is None:
        raise UnreachableError(f"topic {topic}: {KEY} is {shown}")
    return least


def _needs(reading: PartitionReading, least: int, new: int) -> bool:
    if reading.leaderless is not False or reading.live_isr is None:
        return True
    in_sync = len(reading.live_isr)
    return in_sync < least and not (new != UNKNOWN and new <= in_sync)


PROBE = Probe(
    "elr_not_needed",
    "on KRaft, no partition of the topic (of any with an empty name) needs its eligible leader replicas",
    _ask,
    {"topic": ArgKind.TEXT, "n": ArgKind.INT},
)
