"""`kfix audit`: collect a fleet, judge it, compare it with the night before, tell people. Reads clusters only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated

import typer

from kfix.app.audit_run import AuditRunOptions, EngineWish, audit_night, report_of_store
from kfix.app.inventory import chosen, the_day
from kfix.cli.fleet.audit_outputs import (
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
from kfix.cli.fleet.audit_query import query
from kfix.cli.fleet.inventory import (
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
from kfix.cli.options import AsJson
from kfix.errors import UsageError
from kfix.report.console import console_on
from kfix.report.snapshots.collecting import progress
from kfix.report.terminal import say

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Collect a fleet, judge it as kfix diagnose does, compare it with the night before, and tell.\n\n"
    "Exit code: 0 well, 20 warnings, 21 critical, 22 something could not be read (--fail-on).",
)
app.command("query")(query)

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
    concurrency: Concurrency = 32,
    timeout: ClusterTimeout = None,
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
    watching = Watching(quiet or only_new)
    wish = AuditRunOptions(collect, the_day(day), run or "", concurrency, timeout)
    loaded = None
    if collect != "no" or inventory:
        loaded = chosen(inventory, cluster or (), tag or (), owner or ())
        # An expired mute is in the report too; cron mails what is said here.
        for line in () if only_new else loaded.warnings:
            say(f"warning: {line}", err=True)
    engine = EngineWish(spark, processes, _settings(spark_conf), sql_on_spark)
    raise typer.Exit(outputs.tell(audit_night(place, loaded, engine, wish, watching, days=days)))


@dataclass(frozen=True)
class Watching:
    """Progress of an audit on standard error; what the store kept is not said where nobody wants to hear it."""

    quiet: bool

    def progress(self, total: int, what: str) -> AbstractContextManager[Callable[[str, str], None]]:
        return progress(total, console_on(sys.stderr), quiet=self.quiet, what=what)

    def say(self, text: str) -> None:
        say(text, err=True)


def _settings(said: list[str] | None) -> dict[str, str]:
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
    outputs = Outputs(html, csv, clusters_csv, markdown, prometheus, json_output, only_new, limit, fail_on)
    outputs.check()
    place, of = the_store(store), the_day(day)
    raise typer.Exit(outputs.tell(report_of_store(place, run=run or "", day=of, days=days)))
