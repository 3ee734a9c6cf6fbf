"""Which cluster a command is about: by its name in the inventory, or by its address."""

from __future__ import annotations

from pathlib import Path

import typer

from kfix.app.access import Access
from kfix.cli.seam import the_app
from kfix.errors import UsageError
from kfix.report.terminal import say


def access_of(
    ctx: typer.Context,
    bootstrap_server: str | None,
    cluster: str | None,
    zookeeper: str | None,
    command_config: Path | None,
    timeout: float,
    controllers: str | None = None,
) -> Access:
    """Returns the access of a command's options; a name counts more than an address in KFIX_BOOTSTRAP_SERVER.

    What kfix does not use of the client properties is named on standard error.

    Raises UsageError if both a name and an address are given, or no inventory has this name.
    """
    found = _access(ctx, bootstrap_server, cluster, zookeeper, command_config, timeout, controllers)
    for note in found.notes():
        say(f"kfix: note: {note}", err=True)
    return found


def _access(
    ctx: typer.Context,
    bootstrap_server: str | None,
    cluster: str | None,
    zookeeper: str | None,
    command_config: Path | None,
    timeout: float,
    controllers: str | None,
) -> Access:
    if cluster is None:
        return Access(bootstrap_server, zookeeper, command_config, timeout, controllers=controllers)
    source = ctx.get_parameter_source("bootstrap_server")
    if bootstrap_server is not None and (source is None or source.name != "ENVIRONMENT"):
        raise UsageError("--cluster names a cluster of the inventory; leave out --bootstrap-server")
    from kfix.app.profiles import named  # noqa: PLC0415 - only who names a cluster needs the inventory

    return named(
        cluster, Access(None, zookeeper, command_config, timeout, controllers=controllers), the_app(ctx).environ
    )
