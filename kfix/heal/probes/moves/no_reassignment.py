"""No reassignment of this partition is under way: a no-op reassignment would cancel or replace it."""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import about
from kfix.heal.probes.base import ON_PARTITION, Probe


def _ask(args: Args, reader: ClusterReader) -> Answer:
    move = reader.reassignments().get(args.tp())
    observed = "none" if move is None else f"to {list(move.replicas)}, adding {list(move.adding)}"
    return judge(move is None, observed, "no reassignment of this partition under way")


PROBE = Probe(
    "no_reassignment",
    "no reassignment of the partition is under way",
    _ask,
    ON_PARTITION,
    reads=lambda args: about(args.tp(), "reassigning"),
)
