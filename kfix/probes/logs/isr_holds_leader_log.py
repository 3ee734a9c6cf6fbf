"""What ZooKeeper calls the leader holds the whole log of the leader that the brokers follow, and of every live replica.

Where ZooKeeper and the brokers differ, both remedies make ZooKeeper's leader the real one and everybody else truncates
to it. A broker that all name but nobody told to lead (kafka-facts B6, "phantom") differs from nobody's word: the one
that still leads is known to no metadata, only its log tells. So each live replica is compared, whoever is named.
"""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading
from kfix.model.cluster.snapshot import NO_LEADER
from kfix.model.plan.answer import Answer, Verdict, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import about
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.logs.compare import holds
from kfix.probes.words import state_words

_WANTED = "the log of ZooKeeper's leader reaches the end of the followed leader's log"


def ask(args: Args, reader: ClusterReader) -> Answer:
    """A registered broker that gives no view may follow a leader of its own."""
    tp = args.tp()
    reading = reader.partition(tp)
    believed = followed(reading)
    if reading.state is None or reading.registered is None or not believed:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), _WANTED)
    heir = reading.state.leader
    if heir == NO_LEADER or heir not in reading.registered:
        return judge(False, f"ZooKeeper's leader {heir} is not registered", _WANTED)
    silent = sorted(reading.registered - reading.views.keys())
    if silent:
        return judge(None, f"broker {silent[0]} does not tell whom it follows", _WANTED)
    assigned = () if reading.assignment is None else reading.assignment.replicas
    return holds(reader, tp, heir, believed | (set(assigned) & reading.registered), _WANTED)


def followed(reading: PartitionReading) -> set[int]:
    """The leaders that brokers name."""
    return {v.leader for v in reading.views.values() if v.leader != NO_LEADER}


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "leader", "leader_epoch", "isr")


PROBE = Probe(
    name="isr_holds_leader_log",
    summary="ZooKeeper's leader holds the whole log of the leader that brokers follow, and of every live replica",
    params={"partition": ArgKind.PARTITION},
    reads=reads,
    ask=ask,
)
