"""Waits until the step's checks hold: a loading coordinator or a replica that is catching up recovers by itself."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.actions.base import ActionStatus, Preview
from kfix.heal.actions.idle import ESTIMATE, Idle
from kfix.heal.model.facts import Fact
from kfix.heal.model.plan import Gate


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
