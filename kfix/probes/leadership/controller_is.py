"""The controller is still this broker: whoever took over has a list of moves and a memory of its own."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe


def ask(args: Args, reader: ClusterReader) -> Answer:
    node, broker = reader.controller(), args.number("broker")
    observed = f"controller {'none' if node.broker is None else node.broker}, epoch {node.epoch}"
    return judge(node.broker == broker, observed, f"controller {broker}")


PROBE = Probe(
    name="controller_is",
    summary="the controller is this broker",
    params={"broker": ArgKind.BROKER},
    ask=ask,
)
