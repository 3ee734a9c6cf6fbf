"""`kfix fleet check`, and the options that the fleet commands share."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from kfix.core.errors import UsageError
from kfix.core.inventory.load import Loaded
from kfix.fleet.inventory import checked, chosen
from kfix.fleet.report.inventory import inventory_json, show_inventory
from kfix.front.console import console_on
from kfix.front.options import AsJson, duration
from kfix.front.terminal import say_json

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
OfDate = Annotated[
    str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="Day of the run; default: today, UTC.")
]
RunName = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="Name of the run; an unfinished one is resumed.")
]
Clusters = Annotated[
    list[str] | None,
    typer.Option("--cluster", "-c", metavar="PATTERN", help="Only clusters of this name; * and ?."),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only clusters with this tag.")]
Owners = Annotated[list[str] | None, typer.Option("--owner", metavar="OWNER", help="Only clusters of this owner.")]


def the_store(given: str | None) -> str:
    """Returns the store of an option. Raises UsageError if none is given."""
    if not given:
        raise UsageError("no store is given", hint="--store DIR|URL, or KFIX_STORE")
    return given


@dataclass(frozen=True, slots=True)
class FleetReading:
    """The options of a command that reads clusters into a run of the store."""

    inventory: InventoryPath = None
    store: StorePlace = None
    cluster: Clusters = None
    tag: Tags = None
    owner: Owners = None
    day: OfDate = None
    run: RunName = None
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", help="Clusters read at once.")] = 32
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", parser=duration, metavar="TIME", help="Timeout per cluster; overrides the inventory."
        ),
    ] = None

    def chosen(self) -> Loaded:
        return chosen(self.inventory, self.cluster or (), self.tag or (), self.owner or ())


def check(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE|DIR]...", help="Same as --inventory; several are checked each.")
    ] = None,
    inventory: InventoryPath = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    json_output: AsJson = False,
) -> None:
    """Validate an inventory: show every mistake with its position, or the clusters. No cluster is contacted."""
    if files and len(files) > 1:
        if json_output or cluster or tag or owner:
            raise UsageError(
                "several inventories exclude --json, --cluster, --tag and --owner", hint="check one of them"
            )
        for found in checked(files):
            show_inventory(found.inventory, found.warnings, console_on(sys.stdout))
        return
    loaded = chosen(files[0] if files else inventory, cluster or (), tag or (), owner or ())
    if json_output:
        say_json(inventory_json(loaded.inventory, loaded.sha256, loaded.warnings), indent=2)
    else:
        show_inventory(loaded.inventory, loaded.warnings, console_on(sys.stdout))
