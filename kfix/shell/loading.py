"""Loads the module of a command when the command is called or its own help is shown.

So a command's module imports what it needs at its top, and `kfix --help` still loads none of it. The table of all
commands is `kfix.shell.commands`.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.core.extras import install
from kfix.front.formatted import FormattedCommand
from kfix.front.terminal import run_on
from kfix.shell.examples import EXAMPLES

#: Packages that are not installed with kfix itself, and the extra that brings each.
_EXTRAS = {"pyarrow": "fleet", "duckdb": "fleet", "jinja2": "fleet"}
_SENTENCE = re.compile(r'[^"]*?\.(?=[\s"\\])')


@dataclass(frozen=True, slots=True)
class Command:
    """A command. `where` is MODULE:NAME of a function, or of a Typer application with commands of its own.

    `prints` is true for a command that does nothing else: without a reader of its output it ends (exit code 141).
    """

    where: str
    prints: bool = False

    @property
    def summary(self) -> str:
        """Its line in the group's help: the first sentence of its own help, read without loading the module."""
        module, _, name = self.where.partition(":")
        source = (pkgutil.get_data("kfix", f"{module.partition('.')[2].replace('.', '/')}.py") or b"").decode()
        function = source.partition(f"\ndef {name}(")[2].partition('"""')[2]
        found = _SENTENCE.match(function or source.partition(f"\n{name} = ")[2].partition('help="')[2])
        return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class CommandGroup:
    summary: str
    commands: Mapping[str, Command | CommandGroup]


class LazyGroup(TyperGroup):
    """A group whose commands are known by name and summary until one of them is called."""

    def __init__(
        self, *, table: Mapping[str, Command | CommandGroup] | None = None, prefix: str = "", **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.table = dict(table or {})
        self.prefix = prefix

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature of typer's groups
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as above
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        if isinstance(entry, CommandGroup):
            return grouped(cmd_name, entry)
        return _loaded(cmd_name, entry, f"{self.prefix}{cmd_name}")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name and name not in self.table and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name[:80]!r}{did_you_mean(name, self.table) or '.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.table.items()])


def grouped(name: str, group: CommandGroup) -> LazyGroup:
    return LazyGroup(
        name=name,
        help=group.summary,
        no_args_is_help=True,
        rich_markup_mode=None,
        table=group.commands,
        prefix=f"{name} ",
    )


def _epilog(where: str) -> str:
    """Returns the examples of a command for the end of its help."""
    if not (lines := EXAMPLES.get(where)):
        return ""
    # The first character makes click keep the lines as they are.
    return "\n".join(("\b", "Examples:", *(f"  kfix {line}" for line in lines)))


def _loaded(name: str, command: Command, where: str) -> Any:
    """Loads a command; `where` are its words, such as `runbook plan`."""
    module, _, attribute = command.where.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        raise UsageError(f"{name} needs {missing}", hint=install(_EXTRAS[missing])) from None
    if isinstance(found, typer.Typer):
        made = typer.main.get_command(found)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(name, cls=FormattedCommand)(found)
        made = typer.main.get_command(alone)
    made.name = name
    made.epilog = _epilog(where)
    for other, each in getattr(made, "commands", {}).items():
        each.epilog = _epilog(f"{where} {other}")
    if not command.prints:
        # The callback of a group also runs before the help of its commands; it calls `run_on` itself.
        for each in getattr(made, "commands", {"": made}).values():
            each.callback = _running_on(each.callback)
    return made


def _running_on(called: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(called)
    def call(*args: Any, **options: Any) -> Any:
        run_on()
        return called(*args, **options)

    return call
