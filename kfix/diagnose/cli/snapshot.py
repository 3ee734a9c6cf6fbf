"""`kfix snapshot`: saves the state of a cluster in a file that other commands read with --from."""

import socket
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.clusters import SnapshotOptions
from kfix.core.derive.vantage import LONGEST_NAME, as_name, is_name
from kfix.core.errors import UsageError
from kfix.core.wording import size_text
from kfix.diagnose.report.snapshot import described
from kfix.diagnose.snapshots import load_snapshot, save_snapshot, snapshot_dict
from kfix.front.grouped import with_options
from kfix.front.options import (
    AsJson,
    Vantage,
)
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_json


@with_options
def save(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to write; compressed if its name ends in .gz.")],
    reach: ClusterOptions,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="GROUP", help="Also probe the coordinator of this group.")
    ] = None,
    vantage: Vantage = None,
    for_fleet: Annotated[
        bool,
        typer.Option("--for-fleet", help="Also read what the questions of a fleet need, for kfix fleet import."),
    ] = False,
    force: Annotated[bool, typer.Option("--overwrite", help="Replace FILE if it exists.")] = False,
) -> None:
    """Read every source of a cluster once and write the answers to FILE. The cluster is not changed.

    Snapshots saved from several places at the same time show where the network is cut: kfix diagnose --from A --from B.
    """
    if file.exists() and not force:
        raise UsageError(f"{file} already exists", hint="choose another name, or pass --overwrite")
    place = as_name(socket.gethostname().partition(".")[0]) if vantage is None else _checked(vantage)
    access = reach.access()
    options = SnapshotOptions(tuple(group or ()), place, every_log_end=True, fleet_facts=for_fleet)
    snapshot = the_app(ctx).clusters.snapshot(access, options)
    size = save_snapshot(snapshot, file)
    say(described(snapshot))
    say(f"{file}: {size_text(size)}; read it with: kfix diagnose --from {file}")
    if snapshot.failed_sources:
        raise typer.Exit(22)


def show(
    file: Annotated[Path, typer.Argument(help="A saved snapshot, or text of kafka-topics --describe.")],
    json_output: AsJson = False,
) -> None:
    """Show what a snapshot holds, source by source."""
    snapshot = load_snapshot(file)
    if json_output:
        say_json(snapshot_dict(snapshot), indent=2)
    else:
        say(described(snapshot))


def _checked(name: str) -> str:
    if not is_name(name):
        raise UsageError(f"--vantage {name!r}: 1 to {LONGEST_NAME} printable characters, no leading or trailing space")
    return name
