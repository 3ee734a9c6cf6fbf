"""Determines the cluster of a command: by its name in the inventory, or by its address."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import typer

from kfix.core.access import Access
from kfix.core.errors import UsageError
from kfix.front.naming import NAMED, VARIABLE, GivenName
from kfix.front.seam import the_app
from kfix.front.terminal import say

_ENVIRONMENT: Final = "ENVIRONMENT"


def named_outright(ctx: typer.Context, cluster: str | None) -> GivenName | None:
    """Returns the name given before or after the command. Raises UsageError if they differ."""
    given = ctx.meta.get(NAMED)
    before = given if given is not None and given.by != VARIABLE else None
    if cluster is not None and before is not None and before.name != cluster:
        raise UsageError(f"-c {before.name} and -c {cluster} name two clusters", hint="give one of them")
    return before if cluster is None else GivenName(cluster)


def typed(ctx: typer.Context, bootstrap_server: str | None) -> bool:
    """Whether the address was given on the command line, and not by KFIX_BOOTSTRAP_SERVER."""
    source = ctx.get_parameter_source("bootstrap_server")
    return bootstrap_server is not None and (source is None or source.name != _ENVIRONMENT)


def is_given(ctx: typer.Context, option: str) -> bool:
    source = ctx.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def access_of(
    ctx: typer.Context,
    bootstrap_server: str | None,
    cluster: str | None,
    zookeeper: str | None,
    command_config: Path | None,
    timeout: float,
    controllers: str | None = None,
    *,
    of_a_plan: bool = False,
) -> Access:
    """Returns the access that the options of a command describe.

    The first of these counts: a name or an address on the command line, KFIX_CLUSTER, KFIX_BOOTSTRAP_SERVER, and the
    choice of `kfix context use`. With `of_a_plan`, the plan's own cluster takes precedence over that choice. Client
    properties that kfix does not use are named on standard error.

    Raises UsageError if both a name and an address are given, or no inventory has this name.
    """
    found = _access(
        ctx, bootstrap_server, cluster, zookeeper, command_config, timeout, controllers, of_a_plan=of_a_plan
    )
    for note in found.notes():
        say_note(note)
    return found


def say_note(note: str) -> None:
    say(f"kfix: note: {note}", err=True)


def _access(
    ctx: typer.Context,
    bootstrap_server: str | None,
    cluster: str | None,
    zookeeper: str | None,
    command_config: Path | None,
    timeout: float,
    controllers: str | None,
    *,
    of_a_plan: bool,
) -> Access:
    address = typed(ctx, bootstrap_server)
    by_address = Access(bootstrap_server, zookeeper, command_config, timeout, controllers=controllers)
    name = named_outright(ctx, cluster)
    if name is not None and address:
        raise UsageError("--cluster names a cluster of the inventory; leave out --bootstrap-server")
    if name is None:
        # Client properties may contain bootstrap.servers; the cluster chosen by `kfix context use` is then not meant.
        if address or zookeeper or controllers or command_config:
            return by_address
        name = ctx.meta.get(NAMED) or _chosen(ctx, ask=not bootstrap_server and not of_a_plan)
    if name is None:
        return by_address
    from kfix.core.contexts.profiles import named  # noqa: PLC0415 - only who names a cluster needs the inventory

    given = Access(None, zookeeper, command_config, timeout, controllers=controllers)
    return named(name.name, given, the_app(ctx).environ, name.by)


def _chosen(ctx: typer.Context, *, ask: bool) -> GivenName | None:
    if not ask:
        return None
    from kfix.core.contexts.contexts import used_name  # noqa: PLC0415 - only who names no cluster at all needs it

    name = used_name(the_app(ctx).environ)
    return GivenName(name, "kfix context use") if name else None
