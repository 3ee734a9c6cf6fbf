"""The controller is still this broker: a new one has its own list of moves and its own cached state."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import ControllerNode
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import Probe


def controller_words(node: ControllerNode) -> str:
    return f"controller {'none' if node.broker is None else node.broker}, epoch {node.epoch}"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    node, broker = reader.controller(), args.number("broker")
    return judge(node.broker == broker, controller_words(node), f"controller {broker}")


PROBE = Probe("controller_is", "the controller is this broker", _ask, {"broker": ArgKind.BROKER})
