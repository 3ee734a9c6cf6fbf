"""`kfix audit`: collect a fleet, diagnose it, compare with the previous audit, and report. It only reads clusters."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from kfix.core.errors import UsageError
from kfix.fleet.audits import AuditRunOptions, EngineOptions, Pending, report_of_store, run_audit, with_answers
from kfix.fleet.cli.audit_history import history
from kfix.fleet.cli.audit_outputs import Outputs
from kfix.fleet.cli.audit_query import query
from kfix.fleet.cli.inventory import FleetReading, OfDate, RunName, StorePlace, the_store
from kfix.fleet.cli.spark import Spark, SparkConf, spark_settings
from kfix.fleet.inventory import the_day
from kfix.fleet.model.audit import AuditReport
from kfix.fleet.report.collecting import progress
from kfix.front.console import console_on
from kfix.front.formatted import FormattedCommand, FormattedGroup
from kfix.front.grouped import with_options
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


@app.callback()
@with_options
def audit(
    ctx: typer.Context,
    reading: FleetReading,
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
    processes: Annotated[
        int | None,
        typer.Option("--processes", metavar="N", min=1, help="Processes of the pool (default: one per core)."),
    ] = None,
    *,
    outputs: Outputs,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")] = False,
) -> None:
    """Runs an audit: collect, diagnose, compare, store, report."""
    if ctx.invoked_subcommand is not None:
        return
    run_on()
    outputs.check()
    if collect == "no" and (reading.cluster or reading.tag or reading.owner):
        raise UsageError("--cluster, --tag and --owner choose what is collected; a stored run is audited as a whole")
    if collect == "spark" and spark is None:
        raise UsageError("--collect spark needs --spark MASTER")
    if catalog is not None and spark is None:
        raise UsageError("--catalog needs --spark MASTER: the catalog is Spark's")
    wish = _wish(collect, reading, since)
    place = the_store(reading.store)
    observer = TerminalObserver(quiet or outputs.only_new)
    loaded = None
    if collect != "no" or reading.inventory:
        loaded = reading.chosen()
        # An expired mute is in the report as well; cron mails every line printed here.
        for line in () if outputs.only_new else loaded.warnings:
            say(f"warning: {line}", err=True)
    engine = EngineOptions(spark, processes, spark_settings(spark_conf), sql_on_spark, catalog or "")
    report = run_audit(place, loaded, engine, wish, observer, days=outputs.days)
    if report is None:
        if not observer.quiet:
            say(f"{place}: every run has been audited; nothing to judge", err=True)
        raise typer.Exit
    raise typer.Exit(_written(replace(outputs, records=True), place, report))


def _written(outputs: Outputs, place: str, report: AuditReport) -> int:
    return outputs.write(with_answers(place, report, days=outputs.days) if outputs.html is not None else report)


def _wish(collect: str, reading: FleetReading, since: str | None) -> AuditRunOptions:
    day, run = reading.day, reading.run
    if collect not in _WHERE:
        raise UsageError(f"--collect: {collect!r} is not one of {', '.join(_WHERE)}")
    if run == "":
        raise UsageError("--run: is empty", hint="leave --run out to begin a new run")
    pending = None
    if since is not None:
        if collect != "no" or run or day:
            raise UsageError("--since chooses stored runs: it requires --collect no, without --run and --date")
        pending = Pending(None if since == "last" else the_day(since, "--since"))
    return AuditRunOptions(collect, the_day(day), run or "", reading.concurrency, reading.timeout, pending)


@dataclass(frozen=True)
class TerminalObserver:
    """Shows the progress of an audit on standard error, unless `quiet` is set."""

    quiet: bool

    def progress(self, total: int, what: str) -> AbstractContextManager[Callable[[str, str], None]]:
        return progress(total, console_on(sys.stderr), quiet=self.quiet, what=what)

    def say(self, text: str) -> None:
        say(text, err=True)


@app.command("show", cls=FormattedCommand)
@with_options
def show(store: StorePlace = None, day: OfDate = None, run: RunName = None, *, outputs: Outputs) -> None:
    """Report a stored audit again: the last one, or the one of a day or run.

    News counts as undelivered unless --channel names the channel that reports it now.
    """
    outputs.check()
    place, of = the_store(store), the_day(day)
    raise typer.Exit(_written(outputs, place, report_of_store(place, run=run or "", day=of, days=outputs.days)))
