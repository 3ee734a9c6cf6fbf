"""The recorded leader holds the whole log of the leader that the brokers follow, and of every live replica.

Where ZooKeeper and the brokers differ, both remedies make ZooKeeper's leader the real one and all other replicas
truncate to it. A "phantom" leader is one that all metadata names, but that was never instructed to lead
(docs/facts/controller.md): the broker that really leads appears in no metadata, only its log shows it. So the probe
compares every live replica.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import NO_LEADER
from kfix.heal.model.answer import Answer, Verdict, judge
from kfix.heal.model.facts import about
from kfix.heal.probes.base import ON_PARTITION, Probe
from kfix.heal.probes.logs.compare import holds
from kfix.heal.probes.words import state_words

_WANTED = "the log of the recorded leader reaches the end of the followed leader's log"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    """Is inconclusive where a registered broker gives no view: it may follow yet another leader."""
    tp = args.tp()
    reading = reader.partition(tp)
    believed = followed(reading)
    if reading.state is None or reading.registered is None or not believed:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), _WANTED)
    heir = reading.state.leader
    if heir == NO_LEADER or heir not in reading.registered:
        return judge(False, f"the recorded leader {heir} is not registered", _WANTED)
    silent = sorted(reading.registered - reading.views.keys())
    if silent:
        return judge(None, f"broker {silent[0]} does not report which leader it follows", _WANTED)
    assigned = () if reading.assignment is None else reading.assignment.replicas
    return holds(reader, tp, heir, believed | (set(assigned) & reading.registered), _WANTED)


def followed(reading: PartitionReading) -> set[int]:
    """Returns the leaders that the brokers report."""
    return {v.leader for v in reading.views.values() if v.leader != NO_LEADER}


PROBE = Probe(
    "isr_holds_leader_log",
    "the recorded leader holds the whole log of the leader that brokers follow, and of every live replica",
    _ask,
    ON_PARTITION,
    reads=lambda args: about(args.tp(), "leader", "leader_epoch", "isr"),
)
