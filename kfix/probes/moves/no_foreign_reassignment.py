"""No reassignment of other partitions is under way: every move under way is of one of the plan's own partitions."""

from __future__ import annotations

from kfix.errors import RefusedError
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args, parse_partition
from kfix.model.plan.facts import ReadFact
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

_SHOWN = 3


def _freeze(args: Args, _read: ReadFact) -> Args:
    for text in args.text("partitions").split():
        try:
            parse_partition(text)
        except ValueError as error:
            raise RefusedError(f"no_foreign_reassignment: {error}; separate several by spaces") from error
    return args


def _ask(args: Args, reader: ClusterReader) -> Answer:
    own = set(args.text("partitions").split())
    foreign = sorted(tp for tp in reader.reassignments() if str(tp) not in own)
    wanted = "no move under way" + (f" except of {', '.join(sorted(own))}" if own else "")
    if not foreign:
        return judge(True, "none", wanted)
    named = ", ".join(map(str, foreign[:_SHOWN])) + (", ..." if len(foreign) > _SHOWN else "")
    return judge(False, f"{len(foreign)} under way: {named}", wanted)


PROBE = Probe(
    "no_foreign_reassignment",
    "no partition is being moved except the named ones (separated by spaces)",
    _ask,
    {"partitions": ArgKind.TEXT},
    freeze=_freeze,
)
