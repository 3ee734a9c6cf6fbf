"""The command line's frame: the commands, the one error boundary, the exit codes (docs/exit-codes.md)."""

import errno
import os
from typing import Annotated, Any

import typer

from kfix import __version__
from kfix.core.application import App
from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.core.harmless import lines
from kfix.front import completion
from kfix.front.failing import DOCUMENT, OutputDocument
from kfix.front.failure import Machine, machine_output
from kfix.front.naming import NAMED, VARIABLE, named_before, refuse_elsewhere
from kfix.front.terminal import ReaderGoneError, guarded, say
from kfix.shell.commands import COMMANDS
from kfix.shell.failing import answered
from kfix.shell.loading import LazyGroup

INTERRUPTED = 130
#: The exit code that a shell reports for a command ended by SIGPIPE.
PIPE_CLOSED = 141
_DEBUG_HINT = "run the command again with KFIX_DEBUG=1 and report its output"
_OUTPUT_LOST = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})


class Boundary(LazyGroup):
    """The root of all commands.

    It turns every error into one line on standard error, and into a document on standard output if a machine reads that
    (`--json`, `--nagios`, `--format`). KFIX_DEBUG=1 shows the traceback, for developers.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(table=COMMANDS, **settings)

    def main(self, *args: Any, **options: Any) -> Any:
        with guarded():
            try:
                return super().main(*args, **{**options, "obj": options.get("obj") or _live})
            except ReaderGoneError:
                raise SystemExit(PIPE_CLOSED) from None

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        ctx.meta[DOCUMENT] = OutputDocument(machine_output(args))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if ctx.params.get("cluster") is not None and not ctx.resilient_parsing:
            ctx.meta[NAMED] = named = named_before(ctx)
            refuse_elsewhere(named, name, command, rest)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        document = ctx.meta[DOCUMENT]
        try:
            return super().invoke(ctx)
        except KfixError as error:
            say(lines("kfix: ") + str(error), err=True)
            if error.hint:
                say(f"      {error.hint}", err=True)
            for sentence in error.notes() if isinstance(error, UnreachableError) else ():
                say(f"      {sentence}", err=True)
            raise typer.Exit(answered(document, str(error), error.exit_code, error.hint)) from None
        except KeyboardInterrupt:
            say("kfix: interrupted", err=True)
            raise typer.Exit(answered(document, "interrupted", INTERRUPTED)) from None
        except (typer.Exit, typer.Abort, ReaderGoneError):
            raise
        except Exception as bug:  # noqa: BLE001 - the boundary: what is no error of kfix is raised again
            raise _failed(bug, document) from None


def _live() -> App:
    from kfix.heal.live.clusters import live  # noqa: PLC0415 - only for a command that asks a cluster

    return live()


def _failed(bug: Exception, document: OutputDocument) -> Exception:
    """Returns what to raise for an exception that is not an error of kfix: an exit, or the exception itself."""
    if isinstance(bug, OSError) and bug.errno in _OUTPUT_LOST:
        say(f"kfix: cannot write: {(bug.strerror or '').lower()}", err=True)
        return typer.Exit(1)
    if type(bug).__module__.startswith(("typer", "click")):
        code = answered(document, _usage(bug), UsageError.exit_code)
        return typer.Exit(code) if document.machine is Machine.NAGIOS else bug
    if os.environ.get("KFIX_DEBUG"):
        return bug
    sentence = f"internal error: {type(bug).__name__}: {bug}"
    say(f"kfix: {sentence}", err=True)
    say(f"      {_DEBUG_HINT}", err=True)
    return typer.Exit(answered(document, sentence, KfixError.exit_code, _DEBUG_HINT))


def _usage(error: Any) -> str:
    """Returns the text of typer's own usage error; typer prints it with the usage of the command."""
    return str(error.format_message()) if hasattr(error, "format_message") else str(error)


app = typer.Typer(
    name="kfix",
    cls=Boundary,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    help="Diagnose a faulty Kafka cluster, heal it with reviewed runbooks behind gates, and prove that it is healed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"kfix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            "-c",
            envvar=VARIABLE,
            metavar="NAME",
            help="The cluster of this name in the inventory, for the command that follows.",
            autocompletion=completion.contexts,
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
