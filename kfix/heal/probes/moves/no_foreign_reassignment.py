"""No reassignment of other partitions is under way: every move under way is of one of the plan's own partitions."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args, parse_partition
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact
from kfix.heal.probes.base import Probe

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
