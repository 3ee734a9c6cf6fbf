"""Tells a person what to do that kfix cannot or must not do; the step's checks tell whether it was done."""

from __future__ import annotations

from kfix.actions.base import Action, Preview
from kfix.actions.idle import ESTIMATE, never, nothing_to_undo, only_people_know
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.plan import Gate, Risk
from kfix.probes.base import as_written, no_reads


def preview(args: Args) -> Preview:
    do = args.text("do")
    # Every line a comment: people paste commands.
    command = "\n".join(f"# {line}" for line in do.splitlines())
    return Preview(what=do, target="by hand", live="done", command=command, estimate=ESTIMATE)


ACTION = Action(
    name="manual",
    summary="tell a person what to do by hand; nothing is believed that the step's checks do not show",
    risk=Risk.NOTHING,
    gate_floor=Gate.STEP,
    params={"do": ArgKind.TEXT},
    frozen={},
    reads=no_reads,
    writes=no_reads,
    freeze=as_written,
    preview=preview,
    inverse=nothing_to_undo,
    apply=never,
    probe=only_people_know,
    changes=False,
)
