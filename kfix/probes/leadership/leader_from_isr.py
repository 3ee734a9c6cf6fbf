"""The leader is one of the replicas that were in sync when the plan was made.

After an election through the API called "unclean" this proves that it was clean: had the last in-sync replica died in
the same instant, Kafka would have elected a replica that is not in sync.
"""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading
from kfix.model.cluster.snapshot import NO_LEADER
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about, brokers
from kfix.probes.base import state_probe


def _freeze(args: Args, read: ReadFact) -> Args:
    (key,) = about(args.tp(), "isr")
    return args if "isr" in args else args.with_(isr=brokers(read(key)))


def _rule(args: Args, reading: PartitionReading) -> bool | None:
    if reading.state is None or reading.leaderless is None:
        return None
    leader = reading.state.leader
    return leader != NO_LEADER and not reading.leaderless and leader in args.brokers("isr")


PROBE = state_probe(
    "leader_from_isr",
    "the leader was a member of the ISR when the plan was made",
    "a leader among {isr}",
    _rule,
    optional={"isr": ArgKind.BROKERS},
    freeze=_freeze,
)
