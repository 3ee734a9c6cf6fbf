"""`kfix fleet check`, and the options that the commands about fleets share."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kfix.app.inventory import chosen
from kfix.cli.options import AsJson
from kfix.errors import UsageError
from kfix.report.console import console_on
from kfix.report.snapshots.inventory import inventory_json, show_inventory
from kfix.report.terminal import say_json

InventoryPath = Annotated[
    str | None,
    typer.Option(
        "--inventory", "-i", metavar="FILE|DIR", envvar="KFIX_FLEET", help="fleet.yaml, or a folder of *.properties."
    ),
]
StorePlace = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR|URL", envvar="KFIX_STORE", help="The fleet store (docs/fleet-store.md)."),
]
OfDate = Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="The run's day; else today, UTC.")]
RunName = Annotated[str | None, typer.Option("--run", metavar="NAME", help="Its name; an unfinished run goes on.")]
Clusters = Annotated[
    list[str] | None, typer.Option("--cluster", "-c", metavar="PATTERN", help="Only clusters of this name; * and ?.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only clusters with this tag.")]
Concurrency = Annotated[int, typer.Option("--concurrency", metavar="N", help="Clusters read at once.")]
ClusterTimeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="Timeout per cluster; overrides the inventory.")
]
Owners = Annotated[list[str] | None, typer.Option("--owner", metavar="OWNER", help="Only clusters of this owner.")]


def the_store(said: str | None) -> str:

    if not said:
        raise UsageError("which store? none is given", hint="--store DIR|URL, or KFIX_STORE")
    return said


def check(
    file: Annotated[str | None, typer.Argument(metavar="[FILE|DIR]", help="Instead of --inventory.")] = None,
    inventory: InventoryPath = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    json_output: AsJson = False,
) -> None:
    """Validate an inventory: every mistake with its place, or the clusters as they will be asked. Nobody is asked."""
    loaded = chosen(file or inventory, cluster or (), tag or (), owner or ())
    if json_output:
        say_json(inventory_json(loaded.inventory, loaded.sha256, loaded.warnings), indent=2)
    else:
        show_inventory(loaded.inventory, loaded.warnings, console_on(sys.stdout))
