"""`kfix audit history`: what many audits show together."""

import sys
from typing import Annotated

import typer

from kfix.core.diagnosis.finding import CANNOT_TELL
from kfix.core.errors import UsageError
from kfix.fleet.audits import EngineOptions, history_of_store
from kfix.fleet.cli.inventory import StorePlace, the_store
from kfix.fleet.cli.spark import Spark, SparkConf, spark_settings
from kfix.fleet.model.history import HistoryChoice
from kfix.fleet.report.history import print_history
from kfix.fleet.report.history_rows import history_csv, history_json
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.terminal import say, say_document


def history(
    store: StorePlace = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option("--cluster", "-c", metavar="PATTERN", help="Only clusters of this name (* and ?)."),
    ] = None,
    owner: Annotated[
        list[str] | None, typer.Option("--owner", metavar="OWNER", help="Only clusters of this owner.")
    ] = None,
    code: Annotated[
        list[str] | None,
        typer.Option(
            "--code", metavar="CODE", help="Only findings of this check, such as KFX302; changes are left out."
        ),
    ] = None,
    days: Annotated[int, typer.Option("--days", metavar="N", min=1, max=3660, help="Audits of the last N days.")] = 90,
    spark: Spark = None,
    spark_conf: SparkConf = None,
    json_output: AsJson = False,
    csv: Annotated[bool, typer.Option("--csv", help="The episodes as comma-separated values.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Length of each list.")] = 10,
) -> None:
    """Show trends over many audits: episodes, time to repair, flapping, repeat offenders, churn, growth.

    An episode lasts from the audit that first reports a finding to the one that reports it as fixed. The options
    --cluster, --owner and --code may be repeated. docs/audit-history.md explains every figure.

    Exit code: 0, or 22 if a damaged file hides which findings are open now.
    """
    if json_output and csv:
        raise UsageError("use either --json or --csv")
    choice = HistoryChoice(tuple(cluster or ()), tuple(owner or ()), tuple(map(str.upper, code or ())))
    on = EngineOptions(spark, settings=spark_settings(spark_conf))
    found = history_of_store(the_store(store), on, choice, days=days)
    if json_output:
        say_document(history_json(found))
    elif csv:
        say_document(history_csv(found))
    else:
        print_history(found, console_on(sys.stdout), limit=limit)
    if csv:
        for line in found.incomplete:
            say(f"warning: not in the history: {line}", err=True)
    if not found.is_known:
        raise typer.Exit(CANNOT_TELL)
