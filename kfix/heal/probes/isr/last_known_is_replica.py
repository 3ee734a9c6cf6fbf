"""On KRaft, the last known leader of the partition is one of its replicas: then its brokers may register.

Otherwise the active controller of Kafka 4.3 fails at the registration of a replica, and gives its leadership up at each
attempt (docs/facts/kraft.md). ZooKeeper, and Kafka 3.9, keep no last known leader.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import state_words

_WANTED = "a last known leader that is a replica: else the controller fails when a replica registers (KFX120)"


def _rule(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    if reading.state is None or reading.assignment is None:
        return judge(None, state_words(reading), _WANTED)
    if reading.eligible is None or not reading.eligible.last_known:
        return judge(True, "no last known leader is kept", _WANTED)
    last, replicas = reading.eligible.last_known, reading.assignment.replicas
    observed = f"last known leader {ids(last)}, replicas {ids(replicas)}"
    return judge(set(last) <= set(replicas), observed, _WANTED)


PROBE = partition_probe(
    "last_known_is_replica", "on KRaft, the last known leader of the partition is one of its replicas", _rule
)
