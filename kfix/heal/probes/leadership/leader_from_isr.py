"""The leader is one of the replicas that were in sync when the plan was made.

After an election through the API called "unclean" this proves that it was clean: had the last in-sync replica died in
the same instant, Kafka would have elected a replica that is not in sync. The answer then says how the records that it
lacks can still be saved: a replica truncates its log to the leader's only when its broker starts.
"""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import NO_LEADER
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about, brokers
from kfix.heal.probes.assignments import ids
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import saving_words, state_words


def _freeze(args: Args, read: ReadFact) -> Args:
    (key,) = about(args.tp(), "isr")
    return args if "isr" in args else args.with_(isr=brokers(read(key)))


def _rule(args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    isr, words = args.brokers("isr"), state_words(reading)
    wanted = f"a leader among {ids(isr)}"
    if reading.state is None or reading.leaderless is None:
        return judge(None, words, wanted)
    leader = reading.state.leader
    if leader == NO_LEADER or leader in isr:
        return judge(leader != NO_LEADER and not reading.leaderless, words, wanted)
    return judge(False, f"{words}; {leader} was not in sync: {saving_words(isr)}", wanted)


PROBE = partition_probe(
    "leader_from_isr",
    "the leader was a member of the ISR when the plan was made",
    _rule,
    optional={"isr": ArgKind.BROKERS},
    freeze=_freeze,
)
