"""Tells a person what to do that kfix cannot or must not do; the step's checks tell whether it was done."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, Preview, Progress
from kfix.actions.idle import ESTIMATE, as_written, never, no_facts, nothing_to_undo
from kfix.model.args import Args, Kind
from kfix.model.facts import Fact
from kfix.model.plan import Gate, Risk
from kfix.ports import ClusterReader


def preview(args: Args) -> Preview:
    do = args.text("do")
    # Every line a comment: people paste commands.
    command = "\n".join(f"# {line}" for line in do.splitlines())
    return Preview(what=do, target="by hand", live="done", command=command, estimate=ESTIMATE)


def probe(_args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> Progress:
    """Only whoever was told knows."""
    return Progress.UNKNOWN


ACTION = Action(
    name="manual",
    summary="tell a person what to do by hand; nothing is believed that the step's checks do not show",
    risk=Risk.NOTHING,
    gate_floor=Gate.STEP,
    params={"do": Kind.TEXT},
    frozen={},
    reads=no_facts,
    writes=no_facts,
    freeze=as_written,
    preview=preview,
    inverse=nothing_to_undo,
    apply=never,
    probe=probe,
    changes=False,
)
