"""`kfix report`: post-mortems from files. No cluster is read."""

from pathlib import Path
from typing import Annotated

import typer

from kfix.core.errors import UsageError
from kfix.front.options import AsJson
from kfix.front.output_files import check_outputs
from kfix.front.terminal import say, say_document
from kfix.front.times import moment
from kfix.front.writing import write_output
from kfix.incident.files import IncidentRequest, make_report
from kfix.incident.model import IncidentReport
from kfix.incident.report.facts import incident_json
from kfix.incident.report.markdown import incident_markdown, summary_text
from kfix.incident.report.page import render_incident


def incident(
    snapshots: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="FILE", help="Snapshot file, folder, or quoted pattern (repeatable)."),
    ] = None,
    recorder: Annotated[
        list[Path] | None,
        typer.Option("--recorder", metavar="DIR", help="Folder of a recording by kfix watch --recorder (repeatable)."),
    ] = None,
    journal: Annotated[
        list[Path] | None,
        typer.Option("--journal", metavar="FILE", help="Journal or folder of a runbook run (repeatable)."),
    ] = None,
    broker_log: Annotated[
        list[Path] | None,
        typer.Option("--broker-log", metavar="PATH", help="Broker log, or folder of logs, also rotated or .gz."),
    ] = None,
    log_timezone: Annotated[
        str, typer.Option("--log-timezone", metavar="ZONE", help="Time zone of the broker logs.")
    ] = "UTC",
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Start, such as 2026-11-21T10:00; UTC unless it has a zone."),
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="End, in the format of --since.")] = None,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Title of the report.")] = "",
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write one HTML page: offline, printable.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown for a wiki or a ticket.")
    ] = None,
    json_output: AsJson = False,
) -> None:
    """Write the post-mortem of an incident: when it began, impact, cause, actions taken, data loss.

    Exit code: 0 the report is written, 2 a file cannot be read or belongs to another cluster.
    """
    if not snapshots and not journal and not broker_log and not recorder:
        raise UsageError("there is nothing to report on", hint="give --from FILE, at least twice, or --recorder DIR")
    check_outputs((html, markdown), json=json_output)
    begin, end = moment("--since", since), moment("--until", until)
    if begin is not None and end is not None and begin >= end:
        raise UsageError("--since is not before --until")
    request = IncidentRequest(
        tuple(snapshots or ()),
        tuple(recorder or ()),
        tuple(journal or ()),
        tuple(broker_log or ()),
        log_timezone,
        begin,
        end,
        title.strip(),
    )
    _write(make_report(request, lambda text: say(f"note: {text}", err=True)), html, markdown, json_output)


def _write(report: IncidentReport, html: str | None, markdown: str | None, json_output: bool) -> None:
    """Writes the files, then the JSON, the output named "-" or the summary to standard output."""
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
