"""The outputs of an audit: the options that `kfix audit` and `kfix audit show` share, and writing them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from kfix.cli.output_files import check_outputs
from kfix.model.audit.audit import AuditReport
from kfix.report.console import console_on
from kfix.report.fleet.console import print_audit
from kfix.report.fleet.csv_audit import audit_csv
from kfix.report.fleet.html.page import render_html
from kfix.report.fleet.json_audit import audit_json
from kfix.report.fleet.markdown import audit_markdown
from kfix.report.fleet.prometheus import audit_metrics
from kfix.report.fleet.verdict import exit_code, fail_on
from kfix.report.fleet.writing import write_output
from kfix.report.terminal import say, say_document

_FILE = "FILE"
Html = Annotated[
    str | None, typer.Option("--html", metavar=_FILE, help="A self-contained page with charts; works offline.")
]
Csv = Annotated[str | None, typer.Option("--csv", metavar=_FILE, help="One row per finding.")]
ClustersCsv = Annotated[str | None, typer.Option("--clusters-csv", metavar=_FILE, help="One row per cluster.")]
Markdown = Annotated[str | None, typer.Option("--markdown", metavar=_FILE, help="A short chat message.")]
Prometheus = Annotated[
    str | None, typer.Option("--prometheus", metavar=_FILE, help="Metrics for node_exporter's textfile collector.")
]
OnlyNew = Annotated[
    bool,
    typer.Option("--only-new", help="Print nothing unless something is new, worse or newly unread."),
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Lines per section on the terminal.")]
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="LEVEL",
        help="warning, critical, new-warning, new-critical or never: sets the exit code.",
    ),
]
Days = Annotated[int, typer.Option("--days", metavar="N", min=1, max=3660, help="Days of history in the report.")]


@dataclass(frozen=True)
class Outputs:
    """The outputs that were asked for. Files are written atomically; "-" is standard output, for one of them."""

    html: str | None
    csv: str | None
    clusters_csv: str | None
    markdown: str | None
    prometheus: str | None
    json: bool
    only_new: bool
    limit: int
    fail_on: str

    def check(self) -> None:
        """Raises UsageError for a wrong level or a missing folder, before the audit begins."""
        fail_on(self.fail_on)
        files = (self.html, self.csv, self.clusters_csv, self.markdown, self.prometheus)
        check_outputs(files, json=self.json)

    def write(self, report: AuditReport) -> int:
        """Writes all outputs and returns the exit code."""
        for line in report.damaged:
            say(f"warning: not in the history: {line}", err=True)
        threshold = fail_on(self.fail_on)
        for where, text in self._texts(report):
            write_output(text, where)
        if self.json:
            say_document(audit_json(report, fail_on=threshold))
        elif "-" not in (self.html, self.csv, self.clusters_csv, self.markdown, self.prometheus):
            print_audit(report, console_on(sys.stdout), only_new=self.only_new, limit=self.limit)
        return exit_code(report, threshold)

    def _texts(self, report: AuditReport) -> list[tuple[str, str]]:
        found = []
        if self.csv is not None or self.clusters_csv is not None:
            for where, clusters in ((self.csv, False), (self.clusters_csv, True)):
                if where is not None:
                    found.append((where, audit_csv(report, clusters=clusters)))
        if self.markdown is not None:
            found.append((self.markdown, audit_markdown(report)))
        if self.prometheus is not None:
            found.append((self.prometheus, audit_metrics(report)))
        if self.html is not None:
            found.append((self.html, render_html(report)))
        return found
