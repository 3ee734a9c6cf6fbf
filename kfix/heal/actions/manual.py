"""Asks a person to do something that kfix cannot or must not do; the step's checks show whether it was done."""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.heal.actions.base import Kinds, Preview
from kfix.heal.actions.idle import ESTIMATE, Idle


class Manual(Idle):
    name = "manual"
    summary = "ask a person to do something by hand; the step's checks must show the result"
    params: ClassVar[Kinds] = {"do": ArgKind.TEXT}

    def preview(self, args: Args) -> Preview:
        do = args.text("do")
        # Every line is a comment: people paste commands.
        command = "\n".join(f"# {line}" for line in do.splitlines())
        return Preview(what=do, target="by hand", live="done", command=command, estimate=ESTIMATE)
