"""On KRaft, every partition has a leader and no eligible leader replicas: then min.insync.replicas may be set.

Setting it, even to the same value, makes Kafka 4 forget them. A partition without a leader then stays dead even with
all of its brokers back; and where the topic is deleted later, the controller of 4.3.1 fails whenever one of these
brokers registers after a crash (docs/facts/kraft.md). ZooKeeper, and Kafka 3.9, keep no such replicas.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import Mode
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe
from kfix.heal.probes.words import state_words

_WANTED = "a leader, and no eligible leader replica outside the ISR: setting min.insync.replicas makes Kafka forget it"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "ZooKeeper keeps no eligible replicas", _WANTED)
    topic = args.text("topic")
    tps = sorted(reader.assignments(topic)) if topic else []
    readings = [reader.recorded(tp) for tp in tps] if topic else list(reader.every_partition().values())
    bad = [r for r in readings if r.eligible_needed]
    if bad:
        return judge(False, f"{len(bad)} of {len(readings)} partitions do not; {_words(bad[0])}", _WANTED)
    unknown = [r for r in readings if r.eligible_needed is None]
    if unknown:
        return judge(None, f"{len(unknown)} of {len(readings)} partitions unknown; {_words(unknown[0])}", _WANTED)
    return judge(True, f"all {len(readings)} partitions do", _WANTED)


def _words(reading: PartitionReading) -> str:
    if reading.eligible is None:
        return f"{reading.tp}: {state_words(reading)}"
    eligible = f"eligible {list(reading.eligible.replicas)}, last known leader {list(reading.eligible.last_known)}"
    return f"{reading.tp}: {state_words(reading)}, {eligible}"


PROBE = Probe(
    "elr_not_needed",
    "on KRaft, every partition of the topic (of any with an empty name) has a leader, and no eligible leader replicas",
    _ask,
    {"topic": ArgKind.TEXT},
)
