"""`kfix context`: the clusters of the inventory by name, and which one commands are about."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.contexts.contexts import ContextList, contexts, one_of, settings, trust_inventory
from kfix.core.contexts.contexts import add as add_entry
from kfix.core.contexts.contexts import reach as reach_cluster
from kfix.core.contexts.contexts import use as use_name
from kfix.core.diagnosis.finding import CANNOT_TELL
from kfix.core.errors import UsageError
from kfix.front import completion
from kfix.front.console import console_on
from kfix.front.naming import NAMED
from kfix.front.options import AsJson, duration
from kfix.front.reaching import say_note
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_json
from kfix.shell.contexts import contexts_json, reached_json, reached_lines, show_contexts, shown_lines

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A cluster of the inventory.")]
_Known = typer.Argument(metavar="[NAME]", help="A cluster of the inventory.", autocompletion=completion.contexts)
_NameOrUsed = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A cluster of the inventory (default: the one in use).",
        autocompletion=completion.contexts,
    ),
]


def list_(ctx: typer.Context, json_output: AsJson = False) -> None:
    """List the clusters of the inventory by name, and mark the one in use. No cluster is contacted."""
    found = _contexts(ctx)
    if json_output:
        say_json(contexts_json(found), indent=2)
    else:
        show_contexts(found, console_on(sys.stdout))


def use(
    ctx: typer.Context,
    name: Annotated[str | None, _Known] = None,
    none: Annotated[
        bool, typer.Option("--none", help="Clear the choice: commands must name their cluster again.")
    ] = False,
) -> None:
    """Choose the cluster for commands that name none. KFIX_CLUSTER, -c and an address override it."""
    if (name is None) != none:
        raise UsageError("name a cluster of the inventory, or give --none", hint="kfix context list shows all")
    environ = the_app(ctx).environ
    before = use_name(name or "", environ)
    was = f" (before: {before})" if before and before != name else ""
    say(f"commands that name no cluster now use {name}{was}" if name else f"no context is in use{was}")


def show(ctx: typer.Context, name: _NameOrUsed = None, json_output: AsJson = False) -> None:
    """Show what a name stands for: addresses, security, expected settings, mutes. No cluster is contacted."""
    found = _contexts(ctx)
    row = one_of(found, name)
    if json_output:
        say_json(contexts_json(found, row), indent=2)
    else:
        for line in shown_lines(found, row):
            say(line)


def reach(
    ctx: typer.Context,
    name: _NameOrUsed = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", parser=duration, metavar="TIME", help="Default: the inventory's."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept-new-id", help="Accept the cluster that answers now under this name.")
    ] = False,
    json_output: AsJson = False,
) -> None:
    """Connect to a named cluster, read-only: show what answers, its id, its mode and the security in use.

    Exit code: 0 every source answered, 22 one did not, or the id is unknown, 3 another cluster answers.
    """
    app = the_app(ctx)
    chosen = one_of(contexts(app.environ, _asked(ctx)), name).entry.name
    found = reach_cluster(app, chosen, timeout, say_note, accept=accept)
    if json_output:
        say_json(reached_json(found), indent=2)
    else:
        for line in reached_lines(found):
            say(line)
    if not found.complete:
        raise typer.Exit(CANNOT_TELL)


def add(
    ctx: typer.Context,
    name: _Name,
    bootstrap: Annotated[
        str | None, typer.Option("--bootstrap-server", "-b", metavar="HOST:PORT,...", help="Its brokers.")
    ] = None,
    zookeeper: Annotated[
        str | None, typer.Option("--zookeeper", metavar="HOST:PORT,.../CHROOT", help="Its ZooKeeper.")
    ] = None,
    controllers: Annotated[
        str | None, typer.Option("--bootstrap-controller", metavar="HOST:PORT,...", help="Its KRaft controllers.")
    ] = None,
    command_config: Annotated[
        Path | None, typer.Option("--command-config", metavar="FILE", help="Its client properties for TLS and SASL.")
    ] = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Its owner.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag for it.")] = None,
    id_: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its cluster id: another cluster is refused.")
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option("--inventory", "-i", metavar="FILE", help="The file to add it to (default: the one in use)."),
    ] = None,
) -> None:
    """Add a cluster to the inventory; every other line of the file stays as it is. No cluster is contacted."""
    fields = settings(
        bootstrap=bootstrap,
        zookeeper=zookeeper,
        bootstrap_controller=controllers,
        command_config=str(command_config) if command_config is not None else None,
        owner=owner,
        tags=list(tag or ()),
        id=id_,
    )
    path = add_entry(name, fields, the_app(ctx).environ, inventory)
    say(f"{path}: {name} added; check it with: kfix context test {name}")


def trust(
    ctx: typer.Context,
    inventory: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE|DIR]", help="An inventory (default: fleet.yaml), or a folder of properties."),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Trust it no longer.")] = False,
) -> None:
    """Trust an inventory as it is now, such as fleet.yaml of the working folder. No cluster is contacted.

    It is then used in its folder, and its client properties may read other secrets. A changed file is not trusted.
    """
    path, found = trust_inventory(inventory, the_app(ctx).environ, none=none)
    say(f"{path}: {'not trusted' if found is None else 'trusted as it is now'}")
    for entry in () if found is None else found.clusters.values():
        say(f"  {entry.name}: {entry.bootstrap or entry.zookeeper}")


def _contexts(ctx: typer.Context) -> ContextList:
    found = contexts(the_app(ctx).environ, _asked(ctx))
    for note in found.notes:
        say_note(note)
    return found


def _asked(ctx: typer.Context) -> str:
    given = ctx.meta.get(NAMED)
    return "" if given is None else str(given.name)
