"""`kfix fleet collect`: read all clusters of an inventory into one run of the store."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kfix.fleet.chosen import chosen, the_day
from kfix.fleet.cli.inventory import (
    Clusters,
    ClusterTimeout,
    Concurrency,
    InventoryPath,
    OfDate,
    Owners,
    RunName,
    StorePlace,
    Tags,
    the_store,
)
from kfix.fleet.collect import collected
from kfix.fleet.report.collecting import collected_json, progress, show_collected
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.terminal import say, say_json


def collect(
    inventory: InventoryPath = None,
    store: StorePlace = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    day: OfDate = None,
    run: RunName = None,
    concurrency: Concurrency = 32,
    timeout: ClusterTimeout = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", help="Default: one per core for a large fleet, else 1.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the result, no progress.")] = False,
    json_output: AsJson = False,
) -> None:
    """Read many clusters at once and store the snapshots as one run. Clusters are not changed."""
    place = the_store(store)
    loaded = chosen(inventory, cluster or (), tag or (), owner or ())
    for line in loaded.warnings:
        say(f"warning: {line}", err=True)
    made, collection = collected(
        place,
        loaded,
        the_day(day),
        run,
        concurrency=concurrency,
        timeout=timeout,
        processes=processes,
        progress=lambda total: progress(total, console_on(sys.stderr), quiet=quiet),
        say=lambda text: say(text, err=True),
    )
    if json_output:
        say_json(collected_json(made, len(collection.there), collection.seconds), indent=2)
    else:
        show_collected(made, len(collection.there), collection.seconds, console_on(sys.stdout))
    if made.failed:
        raise typer.Exit(22)
