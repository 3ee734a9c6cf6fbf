"""`kfix fleet collect`, `import` and `ingest`: read clusters, snapshot files, or what `kfix watch` recorded, into the
store.
"""

import shlex
import sys
from typing import Annotated

import typer

from kfix.core.inventory.model import Inventory
from kfix.core.wording import several
from kfix.fleet.cli.inventory import FleetReading, InventoryPath, StorePlace, the_store
from kfix.fleet.collect.importing import import_files
from kfix.fleet.collect.ingesting import ingest_rings
from kfix.fleet.collect.run import collected
from kfix.fleet.inventory import chosen, the_day
from kfix.fleet.report.collecting import collected_json, progress, show_collected
from kfix.front.console import console_on
from kfix.front.grouped import with_options
from kfix.front.options import AsJson
from kfix.front.terminal import say, say_json


@with_options
def collect(
    reading: FleetReading,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", help="Default: one per core for a large fleet, else 1.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the result, no progress.")] = False,
    json_output: AsJson = False,
) -> None:
    """Read many clusters at once and store the snapshots as one run. Clusters are not changed."""
    place = the_store(reading.store)
    loaded = reading.chosen()
    for line in loaded.warnings:
        say(f"warning: {line}", err=True)
    made, collection = collected(
        place,
        loaded,
        the_day(reading.day),
        reading.run,
        concurrency=reading.concurrency,
        timeout=reading.timeout,
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


def load(
    files: Annotated[list[str], typer.Argument(metavar="[NAME=]FILE...", help="Snapshot files.")],
    inventory: InventoryPath = None,
    store: StorePlace = None,
    day: Annotated[str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="Day of that run.")] = None,
    run: Annotated[
        str,
        typer.Option("--run", metavar="NAME", help="Add the snapshots to the run of that name; default: a new run."),
    ] = "",
    json_output: AsJson = False,
) -> None:
    """Store snapshot files of clusters that cannot be reached from here. Each is in a run of the day it was taken on.

    NAME is the cluster's name in the inventory; it is not needed where the inventory or the last audit knows the id.
    """
    loaded = chosen(inventory) if inventory else None
    found = import_files(
        the_store(store), files, loaded.inventory if loaded else Inventory(), run=run, day=the_day(day)
    )
    if json_output:
        shown = [
            {"run": i.run.id, "date": i.run.day.isoformat(), "added": list(i.added), "already": list(i.there)}
            for i in found
        ]
        say_json({"imported": shown}, indent=2)
        return
    for each in found:
        what = f"{several(len(each.added), 'cluster')} added" if each.added else "nothing to add"
        already = f", {several(len(each.there), 'cluster')} already there" if each.there else ""
        say(f"run {each.run.id} of {each.run.day}: {what}{already}")
        if each.added:
            audit = ["kfix", "audit", "--collect", "no", "--store", str(store), "--date", str(each.run.day), "--run"]
            say(f"  next: {shlex.join([*audit, each.run.id])}")


def ingest(
    rings: Annotated[list[str], typer.Argument(metavar="[NAME=]DIR...", help="Folders of kfix watch --recorder.")],
    inventory: InventoryPath = None,
    store: StorePlace = None,
    json_output: AsJson = False,
) -> None:
    """Add each change of a partition that kfix watch recorded to the history of the store, with its time.

    NAME is the cluster's name in the inventory; it is not needed where the inventory or the last audit knows the id. A
    change is added once, so the command may be repeated while the watch runs.
    """
    loaded = chosen(inventory) if inventory else None
    found = ingest_rings(the_store(store), rings, loaded.inventory if loaded else Inventory())
    for each in found:
        for problem in each.problems:
            say(f"warning: {each.cluster}: {problem}", err=True)
    if json_output:
        shown = [{"cluster": i.cluster, "snapshots": i.snapshots, "added": i.added, "already": i.there} for i in found]
        say_json({"ingested": shown}, indent=2)
        return
    for each in found:
        already = f", {each.there} already there" if each.there else ""
        what = f"{several(each.added, 'change')} of partitions added{already}"
        say(f"{each.cluster}: {several(each.snapshots, 'snapshot')}, {what}")
