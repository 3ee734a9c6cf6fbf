"""`kfix diagnose`: what is wrong, why, which clients are blocked, and the remedies. It only reads."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.access import Access
from kfix.core.clusters import DiagnoseOptions
from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS, Diagnosis
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import TIMING
from kfix.diagnose.diagnosis import (
    EVERYTHING,
    Choice,
    as_the_inventory_says,
    choice_of,
    chosen,
    diagnose_saved,
    group_story,
    judged_checks,
    require_topics,
)
from kfix.diagnose.report.formats import Format, document, exit_code_of
from kfix.diagnose.report.screen import first_lines, print_screen
from kfix.diagnose.report.snapshot import traffic_lines
from kfix.diagnose.report.table import print_findings
from kfix.front import completion
from kfix.front.failing import DOCUMENT, OutputDocument
from kfix.front.grouped import with_options
from kfix.front.lines import Line, height, print_lines
from kfix.front.naming import NAMED
from kfix.front.options import (
    Debounce,
    FromFiles,
    RestartGrace,
    TransactionGrace,
)
from kfix.front.output_files import require_plain_file
from kfix.front.pasting import ask_for_paste
from kfix.front.plain import PlainConsole
from kfix.front.reaching import ClusterOptions, is_given
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_document

_LONGEST = 86_400
_STDOUT = "-"


@with_options
def diagnose(
    ctx: typer.Context,
    reach: ClusterOptions,
    from_files: FromFiles = None,
    before: Annotated[
        Path | None,
        typer.Option(
            "--before", metavar="FILE", help="An earlier snapshot (kfix snapshot save): report records lost since."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="GROUP",
            help="Explain why this consumer group is blocked.",
            autocompletion=completion.groups,
        ),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", metavar="TOPIC", help="Only findings about this topic.", autocompletion=completion.topics
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="CODE,...", help="Only these codes, such as KFX101.", autocompletion=completion.codes
        ),
    ] = None,
    min_severity: Annotated[
        str,
        typer.Option(
            "--min-severity", metavar="SEVERITY", help="Only findings this severe or worse: info, warning, critical."
        ),
    ] = "info",
    prevention: Annotated[
        bool, typer.Option("--prevention", help="Also report latent risks, as the audit does.")
    ] = False,
    debounce: Debounce = TIMING.debounce,
    restart_grace: RestartGrace = TIMING.restart_grace,
    transaction_grace: TransactionGrace = TIMING.transaction_grace,
    format_: Annotated[
        Format | None,
        typer.Option("--format", "-o", metavar="FORMAT", help=f"{', '.join(Format)} (default: text)."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output-file", metavar="FILE", help="Write to FILE, which is replaced as a whole."),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    nagios: Annotated[
        bool,
        typer.Option(
            "--nagios", help="Short for --format nagios: one line, and exit code 0, 1, 2 or 3, for a monitoring system."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "--full", "-v", help="Everything about each finding: evidence, all remedies.")
    ] = False,
    stats: Annotated[
        bool,
        typer.Option("--stats", help="Also print the requests sent to each server, on standard error."),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep/--no-keep", help="Store this snapshot, to name blocked groups and lost brokers later."),
    ] = True,
) -> None:
    """Diagnose a cluster: findings with cause, evidence, blocked clients and remedies.

    Exit code: 0 healthy, 20 warnings, 21 critical, 22 unknown: a source was not read.
    """
    choice = choice_of(only or [], topic or [], min_severity, prevention=prevention)
    if not all(0 <= seconds <= _LONGEST for seconds in (debounce, restart_grace, transaction_grace)):
        raise UsageError(f"--debounce, --restart-grace and --transaction-grace must be 0 to {_LONGEST} seconds")
    kind = _format(format_, json=json_output, nagios=nagios)
    if group is not None and (not group or kind not in {Format.TEXT, Format.JSON} or choice != EVERYTHING):
        raise UsageError(
            "--group needs a name, and excludes --only, --topic, --min-severity, --prevention, and formats other than "
            "text and json"
        )
    before_it = ctx.meta.get(NAMED)
    name = reach.cluster or (before_it.name if before_it is not None else "")
    placed = _placed(ctx, output, name or reach.address)
    if from_files:
        if before is not None:
            raise UsageError("--before needs a live cluster; leave out --from")
        if reach.is_given:
            raise UsageError("--from reads a saved snapshot; leave out --bootstrap-server, --cluster and --zookeeper")
        ask_for_paste(from_files)
        diagnosis, snapshot = diagnose_saved(
            from_files,
            Criteria(debounce, restart_grace, transaction_grace, choice.prevention),
            lambda sentence: say(sentence, err=True),
        )
    else:
        access = reach.access()
        placed.cluster = access.name or placed.cluster
        own = access.criteria
        if not is_given(ctx, "restart_grace"):
            restart_grace = own.restart_grace
        first_verdict = _FirstVerdict()
        options = DiagnoseOptions(
            debounce=debounce,
            restart_grace=restart_grace,
            transaction_grace=transaction_grace,
            prevention=choice.prevention,
            expected=own.expected,
            zones=own.zones,
            groups=(group,) if group else (),
            keep=keep,
            before=before,
            # If errors are piped, only the confirmed verdict counts.
            first=partial(first_verdict.show, choice, access) if sys.stderr.isatty() else None,
            interrupted=_not_confirmed(
                choice, access, verbose=verbose, machine=kind is not Format.TEXT or group is not None
            ),
            waiting=first_verdict.wait,
        )
        diagnosis, snapshot = the_app(ctx).clusters.diagnose(access, options)
        first_verdict.erase()
        if group is None:
            diagnosis = as_the_inventory_says(diagnosis, access)
    if stats:
        print_lines(traffic_lines(snapshot), PlainConsole(sys.stderr))
    if group is not None:
        raise typer.Exit(_report_group(diagnosis, snapshot, group, kind, placed))
    require_topics(snapshot, choice.topics)
    raise typer.Exit(_report(chosen(diagnosis, choice), choice, kind, placed, verbose=verbose))


def _format(chosen_format: Format | None, *, json: bool, nagios: bool) -> Format:
    short = {Format.JSON: json, Format.NAGIOS: nagios}
    named = {each for each, is_given in short.items() if is_given} | (
        {chosen_format} if chosen_format is not None else set()
    )
    if len(named) > 1:
        raise UsageError("--format, --json and --nagios name different formats", hint="give one of them")
    return named.pop() if named else Format.TEXT


def _placed(ctx: typer.Context, output: str | None, cluster: str) -> OutputDocument:
    """Returns the document that the error boundary fills after a failure. Raises UsageError for an unusable file."""
    placed: OutputDocument = ctx.meta.setdefault(DOCUMENT, OutputDocument())
    if output is not None and output != _STDOUT:
        require_plain_file(output)
        placed.output = output
    placed.cluster = cluster
    return placed


class _FirstVerdict:
    """What a terminal shows until the second snapshot decides; the verdict then takes its place."""

    def __init__(self) -> None:
        self._console = PlainConsole(sys.stderr)
        self._shown: list[Line] = []

    def show(self, choice: Choice, access: Access, diagnosis: Diagnosis) -> None:
        self._print(first_lines(chosen(as_the_inventory_says(diagnosis, access), choice)))

    def wait(self, seconds: float) -> None:
        text = f"some of this may resolve itself: taking a second snapshot in {seconds:.0f} s (--debounce)"
        self._print([Line(text)])

    def _print(self, lines: list[Line]) -> None:
        print_lines(lines, self._console)
        self._shown += lines

    def erase(self) -> None:
        if self._shown and self._console.is_terminal and sys.stdout.isatty():
            self._console.erase(height(self._shown, self._console.width))


def _not_confirmed(choice: Choice, access: Access, *, verbose: bool, machine: bool) -> Callable[[Diagnosis], None]:
    """Returns what shows the first snapshot's diagnosis if Ctrl-C ends the command; a program gets only the error."""

    def show(diagnosis: Diagnosis) -> None:
        if not machine:
            say("interrupted before the second snapshot: not confirmed; some of this may resolve itself")
            _print(chosen(as_the_inventory_says(diagnosis, access), choice), verbose=verbose)

    return show


def _report(diagnosis: Diagnosis, choice: Choice, kind: Format, placed: OutputDocument, *, verbose: bool) -> int:
    if kind is Format.TEXT and placed.output is None:
        _print(diagnosis, verbose=verbose)
    else:
        _write(document(kind, diagnosis, partial(judged_checks, choice), verbose=verbose), placed)
    return exit_code_of(kind, diagnosis)


def _print(diagnosis: Diagnosis, *, verbose: bool) -> None:
    console = PlainConsole(sys.stdout)
    print_findings(diagnosis, console) if verbose else print_screen(diagnosis, console)


def _write(text: str, placed: OutputDocument) -> None:
    if placed.output is None:
        say_document(text)
        return
    from kfix.front.writing import write_output  # noqa: PLC0415 - only for --output-file

    placed.done = True  # Set even if writing fails: the error could not be written there either.
    write_output(text if text.endswith("\n") else f"{text}\n", placed.output)


def _report_group(diagnosis: Diagnosis, snapshot: Snapshot, group: str, kind: Format, placed: OutputDocument) -> int:
    """Returns the exit code: healthy, warnings if the group falls behind, critical if it is blocked, or unknown."""
    from kfix.diagnose.report.group_story import group_json, group_text, print_group  # noqa: PLC0415 - only for --group

    story = group_story(snapshot, diagnosis, group)
    if kind is Format.TEXT and placed.output is None:
        print_group(story, PlainConsole(sys.stdout))
    else:
        _write(group_json(story) if kind is Format.JSON else group_text(story), placed)
    return {True: CRITICAL, False: WARNINGS if story.cause else HEALTHY, None: CANNOT_TELL}[story.blocked]
