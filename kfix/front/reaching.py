"""Determines the cluster of a command: by its name in the inventory, or by its address."""

from dataclasses import dataclass
from typing import Final

import typer

from kfix.core.access import Access
from kfix.core.errors import UsageError
from kfix.front import options
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


def is_given(ctx: typer.Context, option: str) -> bool:
    source = ctx.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The connection options of a command."""

    ctx: typer.Context
    bootstrap_server: options.BootstrapServer = None
    cluster: options.ClusterName = None
    zookeeper: options.ZooKeeper = None
    bootstrap_controller: options.BootstrapController = None
    command_config: options.CommandConfig = None
    timeout: options.Timeout = 5.0

    @property
    def address(self) -> str:
        return self.bootstrap_server or self.zookeeper or ""

    @property
    def is_given(self) -> bool:
        """Whether the command line names a cluster or an address; variables of the environment do not count."""
        addresses = ("bootstrap_server", "zookeeper", "bootstrap_controller")
        return named_outright(self.ctx, self.cluster) is not None or any(map(self._typed, addresses))

    def access(self, *, of_a_plan: bool = False) -> Access:
        """Returns the access that the options describe.

        The first of these counts: a name or an address on the command line, KFIX_CLUSTER, KFIX_BOOTSTRAP_SERVER, and
        the choice of `kfix context use`. Other variables belong to an address and never to a name. With `of_a_plan`,
        the plan's own cluster takes precedence over that choice. Client properties that kfix does not use are named on
        standard error.

        Raises UsageError if both a name and an address are given, or no inventory has this name.
        """
        found = self._access(of_a_plan=of_a_plan)
        for note in found.notes():
            say_note(note)
        return found

    def _access(self, *, of_a_plan: bool) -> Access:
        by_address = Access(
            self.bootstrap_server,
            self.zookeeper,
            self.command_config,
            self.timeout,
            controllers=self.bootstrap_controller,
        )
        name = named_outright(self.ctx, self.cluster)
        if name is not None and self._typed("bootstrap_server"):
            raise UsageError("--cluster names a cluster of the inventory; leave out --bootstrap-server")
        if name is None:
            # Client properties may contain bootstrap.servers; the cluster chosen by `kfix context use` is then not
            # meant.
            if any(map(self._typed, ("bootstrap_server", "zookeeper", "bootstrap_controller", "command_config"))):
                return by_address
            name = self.ctx.meta.get(NAMED) or _chosen(self.ctx, ask=not self.address and not of_a_plan)
        if name is None:
            return by_address
        from kfix.core.contexts.profiles import named  # noqa: PLC0415 - only who names a cluster needs the inventory

        given = Access(
            None,
            self.zookeeper if self._typed("zookeeper") else None,
            self.command_config if self._typed("command_config") else None,
            self.timeout,
            controllers=self.bootstrap_controller if self._typed("bootstrap_controller") else None,
        )
        return named(name.name, given, the_app(self.ctx).environ, name.by)

    def _typed(self, option: str) -> bool:
        source = self.ctx.get_parameter_source(option)
        return getattr(self, option) is not None and (source is None or source.name != _ENVIRONMENT)


def say_note(note: str) -> None:
    say(f"kfix: note: {note}", err=True)


def _chosen(ctx: typer.Context, *, ask: bool) -> GivenName | None:
    if not ask:
        return None
    from kfix.core.contexts.contexts import used_name  # noqa: PLC0415 - only who names no cluster at all needs it

    name = used_name(the_app(ctx).environ)
    return GivenName(name, "kfix context use") if name else None
