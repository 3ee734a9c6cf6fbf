"""`kfix lab grow`: a large cluster for measurements."""

from __future__ import annotations

from typing import Annotated

import typer

from kfix.front.terminal import say
from kfix.lab.cli.console import Name, end_like_ctrl_c, open_lab, progress

_WIDTH = 20


def grow(
    partitions: Annotated[int, typer.Argument(metavar="N", min=1, max=1_000_000, help="Partitions in all.")],
    rf: Annotated[int, typer.Option("--rf", min=1, help="Replication factor of the new topics.")] = 3,
    width: Annotated[int, typer.Option("--width", min=1, max=1000, help="Partitions per topic.")] = _WIDTH,
    name: Name = None,
) -> None:
    """Create empty topics until the lab has N partitions, to measure commands on a large cluster."""
    lab = open_lab(name)
    end_like_ctrl_c()
    with progress() as report:
        created = lab.grow(partitions, rf, width, report)
    say(f"{created} partitions created; every broker lists at least {partitions}")
