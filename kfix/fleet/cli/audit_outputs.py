"""The outputs of an audit: the options that `kfix audit` and `kfix audit show` share, and writing them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from kfix.core.errors import KfixError, UsageError
from kfix.core.harmless import lines
from kfix.fleet.audit.news import Outgoing, check_channel, outgoing
from kfix.fleet.model.audit import AuditReport
from kfix.fleet.report.console import print_audit
from kfix.fleet.report.csv_audit import audit_csv
from kfix.fleet.report.html.page import render_html
from kfix.fleet.report.json_audit import audit_json
from kfix.fleet.report.markdown import audit_markdown
from kfix.fleet.report.owner_messages import write_messages
from kfix.fleet.report.prometheus import audit_metrics
from kfix.fleet.report.verdict import exit_code, fail_on
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.output_files import check_outputs
from kfix.front.terminal import reader_is_gone, say
from kfix.front.writing import STDOUT, write_output

_FILE: Final = "FILE"
#: The channels of --only-new, --markdown and --owner-messages without --channel.
ONLY_NEW: Final = "only-new"
MARKDOWN: Final = "markdown"
OWNERS: Final = "owners"


@dataclass(frozen=True)
class Outputs:
    """The outputs that were asked for. Files are written atomically; "-" is standard output, for one of them.

    An output that reports news has a channel: it shows what is new since its own last delivery. With `records` a
    delivery is recorded once it was written; a named channel always is, and output on a terminal only then.
    """

    html: Annotated[
        str | None, typer.Option("--html", metavar=_FILE, help="A self-contained page with charts; works offline.")
    ] = None
    csv: Annotated[str | None, typer.Option("--csv", metavar=_FILE, help="One row per finding.")] = None
    clusters_csv: Annotated[str | None, typer.Option("--clusters-csv", metavar=_FILE, help="One row per cluster.")] = (
        None
    )
    markdown: Annotated[str | None, typer.Option("--markdown", metavar=_FILE, help="A short chat message.")] = None
    prometheus: Annotated[
        str | None, typer.Option("--prometheus", metavar=_FILE, help="Metrics for node_exporter's textfile collector.")
    ] = None
    owner_messages: Annotated[
        str | None,
        typer.Option("--owner-messages", metavar="DIR", help="One Markdown message for each owner with news."),
    ] = None
    json: AsJson = False
    only_new: Annotated[
        bool, typer.Option("--only-new", help="Print nothing unless something is new, worse or newly unread.")
    ] = False
    channel: Annotated[
        str | None,
        typer.Option("--channel", metavar="NAME", help="Report what is new since the last delivery on this channel."),
    ] = None
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Lines per section on the terminal.")] = 20
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=1, max=3660, help="Days of history in the report.")
    ] = 30
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            metavar="LEVEL",
            help="warning, critical, new-warning, new-critical or never: sets the exit code.",
        ),
    ] = "warning"
    records: bool = False

    def check(self) -> None:
        """Raises UsageError for a wrong level, channel or missing folder, before the audit begins."""
        fail_on(self.fail_on)
        if self.channel is not None:
            check_channel(self.channel)
        files = (self.html, self.csv, self.clusters_csv, self.markdown, self.prometheus)
        check_outputs(files, json=self.json)
        if self.owner_messages is not None and not Path(self.owner_messages or "-").is_dir():
            raise UsageError(f"--owner-messages: {self.owner_messages!r} is no folder", hint="create it first")

    def write(self, report: AuditReport) -> int:
        """Writes all outputs and returns the exit code.

        An output that fails does not keep the others from being written; then the first error is raised. What it
        would have reported is reported by the next audit.
        """
        threshold = fail_on(self.fail_on)
        writing = _Writing(report, self)
        for line in report.damaged:
            say(f"warning: not in the history: {line}", err=True)
        for where, channel, text in self._texts():
            writing.one(channel, where, partial(_write, text, where))
        if self.owner_messages is not None:
            folder = self.owner_messages
            writing.one(self.channel or OWNERS, folder, partial(_write_messages, folder))
        if self.json:
            writing.one(self.channel, STDOUT, partial(_write, partial(audit_json, fail_on=threshold), STDOUT))
        elif STDOUT not in (self.html, self.csv, self.clusters_csv, self.markdown, self.prometheus):
            own = ONLY_NEW if self.only_new else None
            writing.one(self.channel or own, STDOUT, self._print)
        return exit_code(writing.end(), threshold)

    def _print(self, report: AuditReport) -> bool:
        if sys.stdout is None:
            return False
        console = console_on(sys.stdout)
        print_audit(report, console, only_new=self.only_new, limit=self.limit)
        return not console.quiet

    def _texts(self) -> Iterator[tuple[str, str | None, Callable[[AuditReport], str]]]:
        """Yields where to write, the channel, and what makes the text."""
        own = self.channel
        if self.csv is not None:
            yield self.csv, own, audit_csv
        if self.clusters_csv is not None:
            yield self.clusters_csv, own, lambda report: audit_csv(report, clusters=True)
        if self.markdown is not None:
            yield self.markdown, own or MARKDOWN, audit_markdown
        if self.prometheus is not None:
            yield self.prometheus, None, audit_metrics
        if self.html is not None:
            yield self.html, own, render_html


@dataclass
class _Writing:
    """Writes the outputs of one report, and keeps what each channel reports and which of them failed."""

    report: AuditReport
    outputs: Outputs
    errors: list[KfixError] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    channels: dict[str, Outgoing] = field(default_factory=dict)

    def one(self, channel: str | None, where: str, write: Callable[[AuditReport], bool]) -> None:
        """Writes one output; `write` returns False if its reader is gone, such as that of a closed pipe."""
        try:
            view = self._view(channel)
            if not write(view) and channel is not None:
                self.failed.add(channel)
        except KfixError as error:
            self.errors.append(error)
            self.failed |= {channel} if channel is not None else set()
        if channel is not None and where == STDOUT and self.outputs.channel is None and _is_terminal():
            self.failed.add(channel)

    def end(self) -> AuditReport:
        """Records the deliveries and returns the report that the exit code is about. Raises the first error."""
        for channel, view in self.channels.items():
            if channel not in self.failed and self._recorded:
                with self._collected():
                    view.done()
        if self.errors:
            first, *others = self.errors
            raise first if not others else type(first)(lines(*map(str, self.errors)), hint=first.hint)
        chosen = self.outputs.channel or (ONLY_NEW if self.outputs.only_new else "")
        return self.channels[chosen].report if chosen in self.channels else self.report

    @property
    def _recorded(self) -> bool:
        return self.outputs.records or self.outputs.channel is not None

    def _view(self, channel: str | None) -> AuditReport:
        if channel is None:
            return self.report
        if channel not in self.channels:
            self.channels[channel] = view = outgoing(self.report, channel)
            for line in view.damaged:
                say(f"warning: {line}", err=True)
            if self._recorded:
                with self._collected():
                    view.begin()
        return self.channels[channel].report

    @contextmanager
    def _collected(self) -> Iterator[None]:
        try:
            yield
        except KfixError as error:
            self.errors.append(error)


def _write(text: Callable[[AuditReport], str], where: str, report: AuditReport) -> bool:
    write_output(text(report), where)
    return where != STDOUT or (sys.stdout is not None and not reader_is_gone())


def _write_messages(folder: str, report: AuditReport) -> bool:
    write_messages(report, folder)
    return True


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
