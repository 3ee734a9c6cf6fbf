"""`kfix audit`: collect a fleet, diagnose it, compare with the previous audit, and report. It only reads clusters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated

import typer

from kfix.core.errors import UsageError
from kfix.fleet.audits import AuditRunOptions, EngineOptions, Pending, report_of_store, run_audit, with_answers
from kfix.fleet.cli.audit_history import history
from kfix.fleet.cli.audit_outputs import (
    ChannelName,
    ClustersCsv,
    Csv,
    Days,
    FailOn,
    Html,
    Limit,
    Markdown,
    OnlyNew,
    Outputs,
    OwnerMessages,
    Prometheus,
)
from kfix.fleet.cli.audit_query import query
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
from kfix.fleet.cli.spark import Spark, SparkConf, spark_settings
from kfix.fleet.inventory import chosen, the_day
from kfix.fleet.report.collecting import progress
from kfix.front.console import console_on
from kfix.front.formatted import FormattedCommand, FormattedGroup
from kfix.front.options import AsJson
from kfix.front.terminal import run_on, say

app = typer.Typer(
    cls=FormattedGroup,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Collect a fleet, diagnose every cluster, compare with the previous audit, and report.\n\n"
    "Exit code: 0 healthy, 20 warnings, 21 critical, 22 something could not be read (--fail-on).",
)
app.command("query", cls=FormattedCommand)(query)
app.command("history", cls=FormattedCommand)(history)

_WHERE = ("here", "spark", "no")
Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", min=1, help="Processes of the pool (default: one per core).")
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
        typer.Option("--collect", metavar="WHERE", help="here; spark (one task per cluster); no (audit a stored run)."),
    ] = "here",
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="last|DAY", help="With --collect no: judge every run without an audit, oldest first."
        ),
    ] = None,
    spark: Spark = None,
    spark_conf: SparkConf = None,
    sql_on_spark: Annotated[
        bool, typer.Option("--sql-on-spark", help="Also run statements over few rows on Spark.")
    ] = False,
    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            metavar="SCHEMA",
            help="Register the tables of the store in this schema of Spark's catalog, such as kafka or lake.kafka.",
        ),
    ] = None,
    processes: Processes = None,
    concurrency: Concurrency = 32,
    timeout: ClusterTimeout = None,
    html: Html = None,
    csv: Csv = None,
    clusters_csv: ClustersCsv = None,
    markdown: Markdown = None,
    prometheus: Prometheus = None,
    owner_messages: OwnerMessages = None,
    json_output: AsJson = False,
    only_new: OnlyNew = False,
    channel: ChannelName = None,
    limit: Limit = 20,
    days: Days = 30,
    fail_on: FailOn = "warning",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")] = False,
) -> None:
    """Runs an audit: collect, diagnose, compare, store, report."""
    if ctx.invoked_subcommand is not None:
        return
    run_on()
    outputs = Outputs(
        html,
        csv,
        clusters_csv,
        markdown,
        prometheus,
        json_output,
        only_new,
        limit,
        fail_on,
        channel,
        records=True,
        owner_messages=owner_messages,
    )
    outputs.check()
    if collect == "no" and (cluster or tag or owner):
        raise UsageError("--cluster, --tag and --owner choose what is collected; a stored run is audited as a whole")
    if collect == "spark" and spark is None:
        raise UsageError("--collect spark needs --spark MASTER")
    if catalog is not None and spark is None:
        raise UsageError("--catalog needs --spark MASTER: the catalog is Spark's")
    wish = _wish(collect, day, run, since, concurrency, timeout)
    place = the_store(store)
    observer = TerminalObserver(quiet or only_new)
    loaded = None
    if collect != "no" or inventory:
        loaded = chosen(inventory, cluster or (), tag or (), owner or ())
        # An expired mute is in the report as well; cron mails every line printed here.
        for line in () if only_new else loaded.warnings:
            say(f"warning: {line}", err=True)
    engine = EngineOptions(spark, processes, spark_settings(spark_conf), sql_on_spark, catalog or "")
    report = run_audit(place, loaded, engine, wish, observer, days=days)
    if report is None:
        if not observer.quiet:
            say(f"{place}: every run has been audited; nothing to judge", err=True)
        raise typer.Exit
    raise typer.Exit(outputs.write(with_answers(place, report, days=days) if html is not None else report))


def _wish(
    collect: str, day: str | None, run: str | None, since: str | None, concurrency: int, timeout: float | None
) -> AuditRunOptions:
    if collect not in _WHERE:
        raise UsageError(f"--collect: {collect!r} is not one of {', '.join(_WHERE)}")
    if run == "":
        raise UsageError("--run: is empty", hint="leave --run out to begin a new run")
    pending = None
    if since is not None:
        if collect != "no" or run or day:
            raise UsageError("--since chooses stored runs: it requires --collect no, without --run and --date")
        pending = Pending(None if since == "last" else the_day(since, "--since"))
    return AuditRunOptions(collect, the_day(day), run or "", concurrency, timeout, pending)


@dataclass(frozen=True)
class TerminalObserver:
    """Shows the progress of an audit on standard error, unless `quiet` is set."""

    quiet: bool

    def progress(self, total: int, what: str) -> AbstractContextManager[Callable[[str, str], None]]:
        return progress(total, console_on(sys.stderr), quiet=self.quiet, what=what)

    def say(self, text: str) -> None:
        say(text, err=True)


@app.command("show", cls=FormattedCommand)
def show(
    store: StorePlace = None,
    day: OfDate = None,
    run: RunName = None,
    html: Html = None,
    csv: Csv = None,
    clusters_csv: ClustersCsv = None,
    markdown: Markdown = None,
    prometheus: Prometheus = None,
    owner_messages: OwnerMessages = None,
    json_output: AsJson = False,
    only_new: OnlyNew = False,
    channel: ChannelName = None,
    limit: Limit = 20,
    days: Days = 30,
    fail_on: FailOn = "warning",
) -> None:
    """Report a stored audit again: the last one, or the one of a day or run.

    News counts as undelivered unless --channel names the channel that reports it now.
    """
    outputs = Outputs(
        html, csv, clusters_csv, markdown, prometheus, json_output, only_new, limit, fail_on, channel,
        owner_messages=owner_messages,
    )  # fmt: skip
    outputs.check()
    place, of = the_store(store), the_day(day)
    report = report_of_store(place, run=run or "", day=of, days=days)
    raise typer.Exit(outputs.write(with_answers(place, report, days=days) if html is not None else report))
