"""`kfix audit query`: one SELECT over the store."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from kfix.core.errors import UsageError
from kfix.fleet.audit_run import query_store
from kfix.fleet.cli.inventory import RunName, StorePlace, the_store
from kfix.fleet.report.rows import print_rows, rows_csv, rows_json
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.terminal import say_document


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the tables of the store.")],
    store: StorePlace = None,
    run: RunName = None,
    days: Annotated[
        int,
        typer.Option("--days", metavar="N", min=1, max=3660, help="Audits of the last N days."),
    ] = 30,
    snapshots: Annotated[
        int, typer.Option("--snapshots", metavar="N", min=1, max=3660, help="Partitions of the last N runs.")
    ] = 1,
    json_output: AsJson = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values on standard output.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Rows shown on the terminal.")] = 200,
) -> None:
    """Query the store in SQL: kfix audit query "SELECT cluster, score FROM clusters ORDER BY score LIMIT 5".

    Tables: partitions, topics, brokers, groups, sources and snapshots (of the last run), findings, clusters,
    transitions, episodes and audits (of the last days), runs, partition_changes, and the view partition_history.
    docs/tables.md explains the columns, `DESCRIBE findings` lists them. A query cannot write.
    """
    if json_output and csv:
        raise UsageError("use either --json or --csv")
    place = the_store(store)
    answer = query_store(sql, place, days=days, run=run or "", snapshots=snapshots)
    _print_answer(answer, json_output, csv, limit)


def _print_answer(answer: Any, json_output: bool, csv: bool, limit: int) -> None:
    names, rows = answer.column_names, zip(*(c.to_pylist() for c in answer.columns), strict=True)
    if json_output:
        say_document(rows_json(names, rows))
    elif csv:
        say_document(rows_csv(names, rows))
    else:
        print_rows(names, list(rows), console_on(sys.stdout), limit)
