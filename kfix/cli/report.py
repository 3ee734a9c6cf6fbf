"""`kfix report`: what happened, told afterwards from files. Nothing is asked of any cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kfix.app.incident import Asked, make_report
from kfix.cli.options import AsJson
from kfix.cli.output_files import check_outputs
from kfix.errors import UsageError
from kfix.model.incident.report import IncidentReport
from kfix.report.fleet.writing import write_output
from kfix.report.incident.json_incident import incident_json
from kfix.report.incident.markdown import incident_markdown, summary_text
from kfix.report.incident.page import render_incident
from kfix.report.terminal import say, say_document


def incident(
    looks: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="FILE", help="A saved snapshot, a folder of them, or a pattern in quotes."),
    ] = None,
    journal: Annotated[
        list[Path] | None,
        typer.Option("--journal", metavar="FILE", help="The journal of a runbook's run, or the run's folder."),
    ] = None,
    broker_log: Annotated[
        list[Path] | None,
        typer.Option(
            "--broker-log", metavar="PATH", help="A broker's log, or a folder of logs, rotated and .gz ones too."
        ),
    ] = None,
    log_timezone: Annotated[
        str, typer.Option("--log-timezone", metavar="ZONE", help="Of the brokers' logs, which do not tell it.")
    ] = "UTC",
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Like 2026-11-21T10:00; UTC unless it has a zone.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="As --since.")] = None,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Headline of the report.")] = "",
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="One page for any browser, offline, printable.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="The same as text, for a wiki or a ticket.")
    ] = None,
    json_output: AsJson = False,
) -> None:
    """Write the post-mortem of an incident: start, impact, cause, actions and losses.

    Exit code: 0 the report is made, 2 a file cannot be read or is of another cluster.
    """
    if not looks and not journal and not broker_log:
        raise UsageError("there is nothing to report on", hint="give --from FILE, twice or more")
    check_outputs((html, markdown), json=json_output)
    begin, end = _time("--since", since), _time("--until", until)
    if begin is not None and end is not None and begin >= end:
        raise UsageError("--since is not before --until")
    asked = Asked(
        tuple(looks or ()), tuple(journal or ()), tuple(broker_log or ()), log_timezone, begin, end, title.strip()
    )
    _tell(make_report(asked, lambda text: say(f"note: {text}", err=True)), html, markdown, json_output)


def _time(option: str, text: str | None) -> float | None:

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option}: {text!r} is no time", hint="like 2026-11-21T10:00 or 2026-11-21T11:00+01:00"
        ) from None


def _tell(report: IncidentReport, html: str | None, markdown: str | None, json_output: bool) -> None:
    """Files first; standard output takes the JSON, an output that is "-", or else the summary."""
    if html is not None:
        write_output(render_incident(report), html)
    if markdown is not None:
        write_output(incident_markdown(report), markdown)
    if json_output:
        say_document(incident_json(report))
    elif "-" not in (html, markdown):
        say_document(summary_text(report) if html or markdown else incident_markdown(report))
        for file in filter(None, (html, markdown)):
            say(f"written: {file}")
