"""A controller was elected after the epoch that was current when the plan was made."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about_cluster
from kfix.ports import ClusterReader
from kfix.probes.base import Probe


def freeze(args: Args, read: ReadFact) -> Args:
    (key,) = about_cluster("controller_epoch")
    epoch = read(key).value
    return args.with_(after=epoch) if "after" not in args and isinstance(epoch, int) else args


def ask(args: Args, reader: ClusterReader) -> Answer:
    node = reader.controller()
    observed = f"controller {'none' if node.broker is None else node.broker}, epoch {node.epoch}"
    good = node.broker is not None and node.epoch > args.number("after")
    return judge(good, observed, f"a controller with an epoch above {args.number('after')}")


PROBE = Probe(
    name="controller_reelected",
    summary="a new controller was elected since the plan was made",
    optional={"after": ArgKind.INT},
    freeze=freeze,
    ask=ask,
)
