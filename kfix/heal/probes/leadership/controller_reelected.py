"""A controller was elected after the epoch that was current when the plan was made."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about_cluster
from kfix.heal.probes.base import Probe
from kfix.heal.probes.leadership.controller_is import controller_words


def _freeze(args: Args, read: ReadFact) -> Args:
    (key,) = about_cluster("controller_epoch")
    epoch = read(key).value
    return args.with_(after=epoch) if "after" not in args and isinstance(epoch, int) else args


def _ask(args: Args, reader: ClusterReader) -> Answer:
    node, after = reader.controller(), args.number("after")
    good = node.broker is not None and node.epoch > after
    return judge(good, controller_words(node), f"a controller with an epoch above {after}")


PROBE = Probe(
    "controller_reelected",
    "a new controller was elected since the plan was made",
    _ask,
    optional={"after": ArgKind.INT},
    freeze=_freeze,
)
