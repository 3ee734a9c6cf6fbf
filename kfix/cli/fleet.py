"""`kfix fleet`: the inventory checked, all of its clusters collected into a run of the store, the runs listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kfix.cli.options import AsJson
from kfix.report.terminal import say, say_json

if TYPE_CHECKING:
    from datetime import date

    from kfix.adapters.fleet.runs import Run
    from kfix.fleet.collection import Collection
    from kfix.fleet.engine import Engine
    from kfix.fleet.inventory.load import Loaded

app = typer.Typer(no_args_is_help=True, help="Many clusters: check their inventory, collect them, list what is stored.")

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
Owners = Annotated[list[str] | None, typer.Option("--owner", metavar="OWNER", help="Only clusters of this owner.")]


def chosen(
    inventory: str | None, clusters: list[str] | None, tags: list[str] | None, owners: list[str] | None
) -> Loaded:
    """The inventory, or the part of it that the options choose."""
    from dataclasses import replace

    from kfix.fleet.inventory.load import load_inventory, the_path
    from kfix.fleet.inventory.select import select

    loaded = load_inventory(the_path(inventory))
    part = select(loaded.inventory, clusters=clusters or (), tags=tags or (), owners=owners or ())
    return replace(loaded, inventory=part)


def the_store(said: str | None) -> str:
    from kfix.errors import UsageError

    if not said:
        raise UsageError("which store? none is given", hint="--store DIR|URL, or KFIX_STORE")
    return said


def the_day(said: str | None) -> date | None:
    from kfix.errors import UsageError
    from kfix.fleet.inventory.words import day

    try:
        return None if said is None else day(said)
    except ValueError as error:
        raise UsageError(f"--date: {error}") from None


@app.command("check")
def check(
    file: Annotated[str | None, typer.Argument(metavar="[FILE|DIR]", help="Instead of --inventory.")] = None,
    inventory: InventoryPath = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    json_output: AsJson = False,
) -> None:
    """Validate an inventory: every mistake with its place, or the clusters as they will be asked. Nobody is asked."""
    import sys

    from kfix.report.console import console_on
    from kfix.report.inventory import inventory_json, show_inventory

    loaded = chosen(file or inventory, cluster, tag, owner)
    if json_output:
        say_json(inventory_json(loaded.inventory, loaded.sha256, loaded.warnings), indent=2)
    else:
        show_inventory(loaded.inventory, loaded.warnings, console_on(sys.stdout))


@app.command("collect")
def collect(
    inventory: InventoryPath = None,
    store: StorePlace = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    day: OfDate = None,
    run: RunName = None,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", help="Clusters asked at once.")] = 32,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="Bound of each look, before what the inventory says."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", help="Else as many as cores, where the fleet is large.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only what became of it.")] = False,
    json_output: AsJson = False,
) -> None:
    """Look at many clusters at once and store the looks as one run. No cluster is changed, none waits for another."""
    import sys

    from kfix.report.collecting import collected_json, show_collected
    from kfix.report.console import console_on

    place = the_store(store)
    loaded = chosen(inventory, cluster, tag, owner)
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
        quiet=quiet,
    )
    if json_output:
        say_json(collected_json(made, len(collection.there), collection.seconds), indent=2)
    else:
        show_collected(made, len(collection.there), collection.seconds, console_on(sys.stdout))
    if made.failed:
        raise typer.Exit(22)


def collected(
    place: str,
    loaded: Loaded,
    day: date | None,
    run: str | None,
    *,
    concurrency: int = 32,
    timeout: float | None = None,
    processes: int | None = None,
    quiet: bool = False,
    on: Engine | None = None,
) -> tuple[Run, Collection]:
    """One run, begun or gone on with, by threads here or as tasks of the engine `on`; progress on standard error."""
    import sys

    from kfix.app.cluster import look_entry
    from kfix.app.fleet import collect_one, with_fleet
    from kfix.errors import StoreError, UsageError
    from kfix.report.collecting import progress
    from kfix.report.console import console_on

    # An option that is given and empty is a mistake, never a new run.
    if run == "":
        raise UsageError("--run: is empty", hint="leave --run out to begin a new run")
    if timeout is not None and not 0 < timeout <= 3600:
        raise UsageError(f"--timeout: {timeout:g} is not between 0 and 3600 seconds")
    with with_fleet():
        from kfix.fleet.collection import Collection, check_bounds
    check_bounds(concurrency, processes)
    collection = Collection(place, loaded, day, run or "")
    total = len(loaded.inventory.clusters) - len(collection.there)
    if collection.there:
        say(f"run {collection.id} goes on: {len(collection.there)} clusters are there already", err=True)
    try:
        with progress(total, console_on(sys.stderr), quiet=quiet) as hear:
            results = (
                collection.results(look_entry, concurrency=concurrency, processes=processes, timeout=timeout)
                if on is None
                else collection.results_on(on, collect_one, timeout=timeout)
            )
            for done in results:
                hear(done.name, done.error)
        return collection.finish(), collection
    except (KeyboardInterrupt, StoreError):
        say(f"the run is unfinished; go on with it: --run {collection.id} --date {collection.day}", err=True)
        raise


@app.command("runs")
def runs(store: StorePlace = None, day: OfDate = None, json_output: AsJson = False) -> None:
    """The runs of a store, oldest first, the unfinished ones too."""
    import sys

    from kfix.app.fleet import with_fleet
    from kfix.report.console import console_on
    from kfix.report.inventory import runs_json, show_runs

    place, of = the_store(store), the_day(day)
    with with_fleet():
        from kfix.adapters.fleet.listing import listed
        from kfix.adapters.fleet.places import place_of
    found = listed(place_of(place), of)
    if json_output:
        say_json(runs_json(found), indent=2)
    elif not found:
        say(f"{place}: holds no run")
    else:
        show_runs(found, console_on(sys.stdout))
