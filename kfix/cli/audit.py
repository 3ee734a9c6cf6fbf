"""`kfix audit`: collect a fleet, judge it, compare it with the night before, tell people. Reads clusters only."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kfix.cli import audit_query
from kfix.cli.audit_outputs import (
    ClustersCsv,
    Csv,
    Days,
    FailOn,
    Html,
    Limit,
    Markdown,
    OnlyNew,
    Outputs,
    Prometheus,
)
from kfix.cli.fleet import (
    Clusters,
    InventoryPath,
    OfDate,
    Owners,
    RunName,
    StorePlace,
    Tags,
    chosen,
    the_day,
    the_store,
)
from kfix.cli.options import AsJson
from kfix.report.terminal import say

if TYPE_CHECKING:
    from datetime import date

    from kfix.adapters.fleet.runs import Run
    from kfix.fleet.engine import Engine
    from kfix.fleet.inventory.load import Loaded
    from kfix.model.inventory import Inventory

app = typer.Typer(
    invoke_without_command=True,
    help="Collect a fleet, judge it as kfix diagnose does, compare it with the night before, and tell.\n\n"
    "Exit code: 0 well, 20 warnings, 21 critical, 22 something could not be read (--fail-on).",
)
app.command("query")(audit_query.query)

_WHERE = ("here", "spark", "no")
Spark = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="local[*], spark://..., yarn, k8s://..., sc://..., submit; else one pool here.",
    ),
]
SparkConf = Annotated[
    list[str] | None, typer.Option("--spark-conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated.")
]
Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", min=1, help="Of the pool; else as many as cores.")
]


@dataclass(frozen=True)
class _Wish:
    """How a run is come by."""

    collect: str
    day: date | None
    run: str
    concurrency: int
    timeout: float | None
    quiet: bool


@app.callback()
def audit(
    ctx: typer.Context,
    inventory: InventoryPath = None,
    store: StorePlace = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    day: OfDate = None,
    run: RunName = None,
    collect: Annotated[
        str,
        typer.Option(
            "--collect", metavar="WHERE", help="here; spark: one task a cluster; no: judge a run that is there."
        ),
    ] = "here",
    spark: Spark = None,
    spark_conf: SparkConf = None,
    sql_on_spark: Annotated[
        bool, typer.Option("--sql-on-spark", help="Compare and score there too, however few findings there are.")
    ] = False,
    processes: Processes = None,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", help="Clusters asked at once.")] = 32,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Bound of each look, before the inventory's.")
    ] = None,
    html: Html = None,
    csv: Csv = None,
    clusters_csv: ClustersCsv = None,
    markdown: Markdown = None,
    prometheus: Prometheus = None,
    json_output: AsJson = False,
    only_new: OnlyNew = False,
    limit: Limit = 20,
    days: Days = 30,
    fail_on: FailOn = "warning",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """The whole night: collect, judge, compare, keep, tell."""
    if ctx.invoked_subcommand is not None:
        return
    from kfix.app.fleet import with_fleet
    from kfix.errors import UsageError

    outputs = Outputs(html, csv, clusters_csv, markdown, prometheus, json_output, only_new, limit, fail_on)
    outputs.check()
    if collect not in _WHERE:
        raise UsageError(f"--collect: {collect!r} is not one of {', '.join(_WHERE)}")
    if collect == "spark" and spark is None:
        raise UsageError("--collect spark needs --spark MASTER")
    if collect == "no" and (cluster or tag or owner):
        raise UsageError("--cluster, --tag and --owner choose what is collected; a run that is there is judged whole")
    if run == "":
        raise UsageError("--run: is empty", hint="leave --run out to begin a new run")
    place = the_store(store)
    wish = _Wish(collect, the_day(day), run or "", concurrency, timeout, quiet or only_new)
    loaded = None
    if collect != "no" or inventory:
        loaded = chosen(inventory, cluster, tag, owner)
        # An expired mute is in the report too; cron mails what is said here.
        for line in () if only_new else loaded.warnings:
            say(f"warning: {line}", err=True)
    with with_fleet():
        from kfix.app.audit import locked
        from kfix.app.fleet import audit_engine

    with locked(place), audit_engine(spark, processes, _settings(spark_conf), sql_on_spark=sql_on_spark) as used:
        code = _audited(place, loaded, used, wish, outputs, days)
    raise typer.Exit(code)


def _audited(place: str, loaded: Loaded | None, engine: Engine, wish: _Wish, outputs: Outputs, days: int) -> int:
    from kfix.adapters.fleet.places import place_of
    from kfix.app.audit import audit as audited
    from kfix.app.audit import report
    from kfix.report.collecting import progress
    from kfix.report.console import console_on

    root = place_of(place)
    found = _run(place, loaded, engine, wish)
    inventory = _inventory(found, loaded)
    with progress(len(found.clusters), console_on(sys.stderr), quiet=wish.quiet, what="judged") as hear:
        made = audited(root, found, inventory, engine, hear)
    return outputs.tell(report(root, made, engine, days=days))


def _run(place: str, loaded: Loaded | None, engine: Engine, wish: _Wish) -> Run:
    """The run to judge: collected now, or one that is there."""
    from kfix.adapters.fleet.places import place_of
    from kfix.adapters.fleet.runs import newest_run

    if wish.collect == "no" or loaded is None:
        return newest_run(place_of(place), wish.day, wish.run)
    from kfix.cli.fleet import collected
    from kfix.fleet.collection import already_complete

    if wish.run and (there := already_complete(place, wish.day, wish.run)):
        if not wish.quiet:
            say(f"run {wish.run} of {there.day} is complete: judged again, and not collected again", err=True)
        return there
    on = engine if wish.collect == "spark" else None
    made, _ = collected(
        place,
        loaded,
        wish.day,
        wish.run or None,
        concurrency=wish.concurrency,
        timeout=wish.timeout,
        quiet=wish.quiet,
        on=on,
    )
    return made


def _inventory(run: Run, loaded: Loaded | None) -> Inventory:
    """Today's, with what the run knew of clusters that it does not name."""
    from dataclasses import replace

    from kfix.fleet.inventory.recorded import recorded_inventory

    recorded = recorded_inventory(run.manifest)
    if loaded is None:
        return recorded
    return replace(loaded.inventory, clusters={**recorded.clusters, **loaded.inventory.clusters})


def _settings(said: list[str] | None) -> dict[str, str]:
    from kfix.errors import UsageError

    found = {}
    for each in said or ():
        key, mark, value = each.partition("=")
        if not mark or not key.strip():
            raise UsageError(f"--spark-conf: {each!r} is not KEY=VALUE", hint="example: spark.executor.memory=2g")
        found[key.strip()] = value
    return found


@app.command("show")
def show(
    store: StorePlace = None,
    day: OfDate = None,
    run: RunName = None,
    html: Html = None,
    csv: Csv = None,
    clusters_csv: ClustersCsv = None,
    markdown: Markdown = None,
    prometheus: Prometheus = None,
    json_output: AsJson = False,
    only_new: OnlyNew = False,
    limit: Limit = 20,
    days: Days = 30,
    fail_on: FailOn = "warning",
) -> None:
    """An audit of the store once more, the last one unless a day or a run is named, in any of the outputs."""
    from kfix.app.fleet import with_fleet

    outputs = Outputs(html, csv, clusters_csv, markdown, prometheus, json_output, only_new, limit, fail_on)
    outputs.check()
    place, of = the_store(store), the_day(day)
    with with_fleet():
        from kfix.adapters.fleet.places import place_of
        from kfix.app.audit import stored_report
        from kfix.app.fleet import engine
    with engine(processes=1) as used:
        found = stored_report(place_of(place), used, run=run or "", day=of, days=days)
    raise typer.Exit(outputs.tell(found))
