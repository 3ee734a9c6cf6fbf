"""`kfix diagnose`: what is wrong, why, who is blocked, what helps. Reads only."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kfix.cli.options import AsJson, BootstrapServer, CommandConfig, FromFiles, Timeout, ZooKeeper
from kfix.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.model.finding import Diagnosis, Finding
    from kfix.model.snapshot import Snapshot

_LONGEST = 86_400
_SEVERITIES = ("info", "warning", "critical")


@dataclass(frozen=True)
class _Choice:
    """What of the diagnosis is shown. The exit code is always that of what is shown, and of what could not be read."""

    codes: tuple[str, ...]
    topics: tuple[str, ...]
    least: int
    prevention: bool = False


_EVERYTHING = _Choice((), (), 0)


def diagnose(
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    from_files: FromFiles = None,
    before: Annotated[
        Path | None,
        typer.Option(
            "--before", metavar="FILE", help="What an earlier `kfix snapshot save` wrote: what was lost since."
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="GROUP", help="Why does this consumer group hang?")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only findings that touch this topic.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CODE", help="Only these codes, such as KFX101.")
    ] = None,
    min_severity: Annotated[
        str, typer.Option("--min-severity", metavar="SEVERITY", help="info, warning or critical.")
    ] = "info",
    prevention: Annotated[
        bool, typer.Option("--prevention", help="Tell too what works today and will bite one day, as the audit does.")
    ] = False,
    timeout: Timeout = 5.0,
    debounce: Annotated[
        float, typer.Option("--debounce", metavar="SECONDS", help="How long a doubtful state must last to count.")
    ] = 10.0,
    restart_grace: Annotated[
        float, typer.Option("--restart-grace", metavar="SECONDS", help="How long a broker that left may be restarting.")
    ] = 120.0,
    json_output: AsJson = False,
    nagios: Annotated[
        bool, typer.Option("--nagios", help="One line, and exit code 0, 1, 2 or 3, for a monitoring system.")
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep/--no-keep", help="Remember this look: it names blocked groups and lost brokers later."),
    ] = True,
) -> None:
    """Diagnose a cluster: findings with cause, evidence, who is blocked and what helps.

    Exit code: 0 healthy, 20 warnings, 21 critical, 22 could not tell.
    """
    choice = _choice(only or [], topic or [], min_severity, prevention=prevention)
    if not (0 <= debounce <= _LONGEST and 0 <= restart_grace <= _LONGEST):
        raise UsageError(f"--debounce and --restart-grace are seconds, 0 to {_LONGEST}")
    if group is not None and (not group or nagios or choice != _EVERYTHING):
        raise UsageError(
            "--group needs a name, and goes without --only, --topic, --min-severity, --prevention, --nagios"
        )
    if json_output and nagios:
        raise UsageError("--json or --nagios, not both")
    if from_files:
        from kfix.app.cluster import diagnose_saved

        if before is not None:
            raise UsageError("--before is compared with a live cluster; leave out --from")
        if bootstrap_server or zookeeper:
            raise UsageError("--from reads a saved look; leave out --bootstrap-server and --zookeeper")
        diagnosis, snapshot = diagnose_saved(
            from_files,
            restart_grace=restart_grace,
            prevention=choice.prevention,
            saying=lambda sentence: typer.echo(sentence, err=True),
        )
    else:
        from kfix.app.cluster import diagnose_live, make_target

        diagnosis, snapshot = diagnose_live(
            make_target(bootstrap_server, zookeeper, command_config, timeout),
            groups=(group,) if group else (),
            debounce=debounce,
            restart_grace=restart_grace,
            prevention=choice.prevention,
            keep=keep,
            before=before,
            waiting=lambda seconds: typer.echo(
                f"this may be an ordinary election: looking again in {seconds:.0f} s (--debounce)", err=True
            ),
        )
    if group is not None:
        raise typer.Exit(_tell_group(diagnosis, snapshot, group, json_output))
    raise typer.Exit(_tell(_chosen(diagnosis, choice), json_output, nagios))


def _choice(only: list[str], topics: list[str], min_severity: str, *, prevention: bool) -> _Choice:
    """Who asks for a code of prevention asks for prevention."""
    if min_severity not in _SEVERITIES:
        raise UsageError(f"--min-severity: {min_severity!r} is not one of {', '.join(_SEVERITIES)}")
    codes: tuple[str, ...] = ()
    if only:
        from kfix_diagnostics.catalogue import find

        checks = [find(name) for name in only]
        codes = tuple(check.code for check in checks)
        prevention = prevention or any(check.prevention for check in checks)
    return _Choice(codes, tuple(topics), _SEVERITIES.index(min_severity), prevention)


def _chosen(diagnosis: Diagnosis, choice: _Choice) -> Diagnosis:
    """A head stays while something under it is chosen; a chosen one under an unchosen head is shown by itself."""
    from dataclasses import replace

    def fits(finding: Finding) -> bool:
        return (
            (not choice.codes or finding.code in choice.codes)
            and (not choice.topics or any(tp.topic in choice.topics for tp in finding.partitions))
            and finding.worst >= choice.least
        )

    if not choice.codes and not choice.topics and not choice.least:
        return diagnosis
    if not choice.codes and not choice.topics:
        return replace(diagnosis, findings=tuple(f for f in diagnosis.findings if fits(f)))
    chosen = [f.with_folded(()) for f in diagnosis.walk() if fits(f) and f.severity >= choice.least]
    # A run is of no code and of no topic.
    return replace(diagnosis, findings=tuple(sorted(chosen, key=lambda f: (-f.severity, f.key))), unfinished=())


def _tell(diagnosis: Diagnosis, json_output: bool, nagios: bool) -> int:
    from kfix.report.findings_verdict import exit_code, nagios_exit_code, nagios_line

    if nagios:
        typer.echo(nagios_line(diagnosis))
        return nagios_exit_code(diagnosis)
    if json_output:
        from kfix.report.json_findings import findings_json

        typer.echo(findings_json(diagnosis))
    else:
        from kfix.report.findings_table import print_findings

        print_findings(diagnosis, _console())
    return exit_code(diagnosis)


def _tell_group(diagnosis: Diagnosis, snapshot: Snapshot, group: str, json_output: bool) -> int:
    """0: its coordinator is healthy, 21: blocked, 22: cannot be told."""
    from kfix.report.group_story import group_json, print_group
    from kfix_diagnostics.group_story import explain_group

    story = explain_group(snapshot, diagnosis, group)
    if json_output:
        typer.echo(group_json(story))
    else:
        print_group(story, _console())
    return {True: 21, False: 0, None: 22}[story.blocked]


def _console() -> Console:
    from kfix.report.console import console_on

    return console_on(sys.stdout)
