"""Waits until the step's checks hold: a loading coordinator or a replica that is catching up recovers by itself."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import ActionStatus, Preview
from kfix.actions.idle import ESTIMATE, Idle
from kfix.model.plan.args import Args
from kfix.model.plan.facts import Fact
from kfix.model.plan.plan import Gate
from kfix.ports import ClusterReader


class WaitAction(Idle):
    name = "wait"
    summary = "change nothing and wait until the step's checks hold"
    gate_floor = Gate.AUTO

    def preview(self, _args: Args) -> Preview:
        return Preview(
            what="wait until the checks of this step hold",
            target="the cluster",
            live="wait",
            command="# wait, then check again",
            estimate=ESTIMATE,
        )

    def probe(self, _args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> ActionStatus:
        """Waiting cannot be half done; the checks decide."""
        return ActionStatus.DONE


ACTION = WaitAction()
