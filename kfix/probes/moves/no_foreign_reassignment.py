"""Nobody but this plan moves replicas: every move under way is of one of its own partitions."""

from __future__ import annotations

from kfix.errors import RefusedError
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args, parse_partition
from kfix.model.plan.facts import ReadFact
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

_SHOWN = 3


def freeze(args: Args, _read: ReadFact) -> Args:
    for text in args.text("partitions").split():
        try:
            parse_partition(text)
        except ValueError as error:
            raise RefusedError(f"no_foreign_reassignment: {error}; several are parted by spaces") from error
    return args


def ask(args: Args, reader: ClusterReader) -> Answer:
    own = set(args.text("partitions").split())
    foreign = sorted(tp for tp in reader.reassignments() if str(tp) not in own)
    wanted = "no move under way" + (f" but of {', '.join(sorted(own))}" if own else "")
    if not foreign:
        return judge(True, "none", wanted)
    named = ", ".join(map(str, foreign[:_SHOWN])) + (", ..." if len(foreign) > _SHOWN else "")
    return judge(False, f"{len(foreign)} under way: {named}", wanted)


PROBE = Probe(
    name="no_foreign_reassignment",
    summary="no partition but the named ones (parted by spaces) is being moved",
    params={"partitions": ArgKind.TEXT},
    freeze=freeze,
    ask=ask,
)
