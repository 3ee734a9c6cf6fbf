"""Waits until the step's checks hold: what is only loading or catching up heals itself."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Preview
from kfix.actions.idle import ESTIMATE, never, nothing_to_undo
from kfix.model.plan.args import Args
from kfix.model.plan.facts import Fact
from kfix.model.plan.plan import Gate, Risk
from kfix.ports import ClusterReader
from kfix.probes.base import as_written, no_reads


def preview(_args: Args) -> Preview:
    return Preview(
        what="wait until the checks of this step hold",
        target="the cluster",
        live="wait",
        command="# wait, and look again",
        estimate=ESTIMATE,
    )


def probe(_args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> ActionStatus:
    """There is nothing that could be half done; the checks decide."""
    return ActionStatus.DONE


ACTION = Action(
    name="wait",
    summary="change nothing and wait until the step's checks hold",
    risk=Risk.NOTHING,
    gate_floor=Gate.AUTO,
    params={},
    frozen={},
    reads=no_reads,
    writes=no_reads,
    freeze=as_written,
    preview=preview,
    inverse=nothing_to_undo,
    apply=never,
    probe=probe,
    changes=False,
)
