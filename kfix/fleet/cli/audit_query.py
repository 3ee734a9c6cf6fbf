"""`kfix audit query`: one SELECT over the store."""

import sys
from typing import Annotated, Any

import typer

from kfix.core.errors import UsageError
from kfix.fleet.audits import ask_store, query_store
from kfix.fleet.cli.asked import LIST, list_questions, print_answer
from kfix.fleet.cli.inventory import RunName, StorePlace, the_store
from kfix.fleet.report.rows import print_rows, rows_csv, rows_json
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.terminal import say_document


def query(
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="One SELECT over the tables of the store.")] = None,
    ask: Annotated[
        str | None, typer.Option("--ask", metavar="NAME", help="One of kfix's own questions; --ask list names them.")
    ] = None,
    store: StorePlace = None,
    run: RunName = None,
    days: Annotated[
        int,
        typer.Option("--days", metavar="N", min=1, max=3660, help="Audits of the last N days."),
    ] = 30,
    snapshots: Annotated[
        int | None,
        typer.Option(
            "--snapshots",
            metavar="N",
            min=1,
            max=3660,
            help="Partitions of the last N runs (default: 1, or what the question needs).",
        ),
    ] = None,
    json_output: AsJson = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values on standard output.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Rows shown on the terminal.")] = 200,
) -> None:
    """Query the store in SQL: kfix audit query "SELECT cluster, score FROM clusters ORDER BY score LIMIT 5".

    Tables: partitions, topics, brokers, groups, sources and snapshots (of the last run), findings, clusters,
    transitions, episodes and audits (of the last days), runs, partition_changes, and the view partition_history.
    docs/tables.md explains the columns, `DESCRIBE findings` lists them. A query cannot write. A question has exit code
    22 if it could not read all that it needs.
    """
    if (sql is None) == (ask is None):
        raise UsageError("give either a statement or --ask NAME", hint="--ask list names the questions")
    if json_output and csv:
        raise UsageError("use either --json or --csv")
    if ask == LIST:
        list_questions(json_output=json_output, csv=csv)
        return
    place = the_store(store)
    if ask is not None:
        answered = ask_store(ask, place, days=days, run=run or "", snapshots=snapshots)
        print_answer(answered, json_output=json_output, csv=csv, limit=limit)
        raise typer.Exit(22 if answered.not_read else 0)
    answer = query_store(sql or "", place, days=days, run=run or "", snapshots=snapshots or 1)
    _print_answer(answer, json_output, csv, limit)


def _print_answer(answer: Any, json_output: bool, csv: bool, limit: int) -> None:
    names, rows = answer.column_names, zip(*(c.to_pylist() for c in answer.columns), strict=True)
    if json_output:
        say_document(rows_json(names, rows))
    elif csv:
        say_document(rows_csv(names, rows))
    else:
        print_rows(names, list(rows), console_on(sys.stdout), limit)
