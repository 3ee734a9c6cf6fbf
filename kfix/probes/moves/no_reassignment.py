"""Nobody is moving this partition: a no-op reassignment would cancel or replace the move."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import about
from kfix.ports import ClusterReader
from kfix.probes.base import Probe


def ask(args: Args, reader: ClusterReader) -> Answer:
    move = reader.reassignments().get(args.tp())
    observed = "none" if move is None else f"to {list(move.replicas)}, adding {list(move.adding)}"
    return judge(move is None, observed, "no reassignment of this partition under way")


def reads(args: Args) -> tuple[str, ...]:
    return about(args.tp(), "reassigning")


PROBE = Probe(
    name="no_reassignment",
    summary="no reassignment of the partition is under way",
    params={"partition": ArgKind.PARTITION},
    reads=reads,
    ask=ask,
)
