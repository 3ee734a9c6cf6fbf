"""The leader is one of those that were in sync when the plan was made.

After an election through the API called "unclean" this tells that the race was not lost: had the last in-sync replica
died in the same instant, Kafka would have taken one that is not in sync.
"""

from __future__ import annotations

from kfix.model.cluster.snapshot import NO_LEADER
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about, brokers
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words


def freeze(args: Args, read: ReadFact) -> Args:
    (key,) = about(args.tp(), "isr")
    return args if "isr" in args else args.with_(isr=brokers(read(key)))


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    in_sync = args.brokers("isr")
    good = None
    if reading.state is not None and reading.leaderless is not None:
        leader = reading.state.leader
        good = leader != NO_LEADER and not reading.leaderless and leader in in_sync
    return judge(good, state_words(reading), f"a leader among {list(in_sync)}")


PROBE = Probe(
    name="leader_from_isr",
    summary="the leader is a member of the ISR of the time of the plan",
    params={"partition": ArgKind.PARTITION},
    optional={"isr": ArgKind.BROKERS},
    freeze=freeze,
    ask=ask,
)
