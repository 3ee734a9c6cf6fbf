"""`kfix diagnose`: what is wrong, why, who is blocked, what helps. Reads only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kfix.cli.options import AsJson, BootstrapServer, CommandConfig, FromFile, Timeout, ZooKeeper
from kfix.errors import UsageError

if TYPE_CHECKING:
    from kfix.model.finding import Diagnosis
    from kfix.model.snapshot import Snapshot

_SEVERITIES = ("info", "warning", "critical")


def diagnose(
    bootstrap_server: BootstrapServer = None,
    zookeeper: ZooKeeper = None,
    command_config: CommandConfig = None,
    from_file: FromFile = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="GROUP", help="Why does this consumer group hang?")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only findings that touch it.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CODE", help="Only these codes, such as KFX101.")
    ] = None,
    min_severity: Annotated[str, typer.Option("--min-severity", help="info, warning or critical.")] = "info",
    timeout: Timeout = 5.0,
    debounce: Annotated[
        float, typer.Option("--debounce", metavar="SECONDS", help="How long a doubtful state must last to be reported.")
    ] = 10.0,
    restart_grace: Annotated[
        float, typer.Option("--restart-grace", metavar="SECONDS", help="How long a broker that left may be restarting.")
    ] = 120.0,
    json_output: AsJson = False,
    nagios: Annotated[
        bool, typer.Option("--nagios", help="One line and exit code 0, 1, 2 or 3 for a monitoring.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Remember this look in the local store.")] = True,
) -> None:
    """Diagnose a cluster: findings with cause, evidence, who is blocked and what helps.

    Exit code: 0 healthy, 20 warnings, 21 critical, 22 could not tell.
    """
    from kfix.report import exits

    _check(only or [], min_severity, debounce, restart_grace, from_file, bootstrap_server or zookeeper)
    if from_file is not None:
        diagnosis, snapshot = _saved(from_file, restart_grace)
    else:
        diagnosis, snapshot = _live(
            bootstrap_server, zookeeper, command_config, timeout, group, debounce, restart_grace, keep
        )
    _print(diagnosis, snapshot, group, topic or [], only or [], min_severity, json_output, nagios)
    raise typer.Exit(exits.nagios_code(diagnosis) if nagios else exits.exit_code(diagnosis))
