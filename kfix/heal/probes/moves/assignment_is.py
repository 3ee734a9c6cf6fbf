"""The partition has exactly these replicas in this order, and no move is under way."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.assignments import ids, move_words, standing, under_way
from kfix.heal.probes.base import ON_PARTITION, Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    wanted, now = args.brokers("replicas"), standing(reader, args.tp())
    good = now is not None and not under_way(now) and now.replicas == wanted
    return judge(good, move_words(now), f"replicas {ids(wanted)}, no move under way")


PROBE = Probe(
    "assignment_is",
    "the replicas are exactly these, in this order, and no move is under way",
    _ask,
    {**ON_PARTITION, "replicas": ArgKind.BROKERS},
)
