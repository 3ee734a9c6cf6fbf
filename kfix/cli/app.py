"""The command line's frame: the commands, the one error boundary, the exit codes (docs/exit-codes.md)."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, Any

import typer

from kfix import __version__
from kfix.cli.commands import COMMANDS
from kfix.cli.loading import LazyGroup
from kfix.errors import KfixError
from kfix.harmless import lines
from kfix.report.terminal import guarded, say

INTERRUPTED = 130
#: The exit code that a shell reports for a command ended by SIGPIPE.
PIPE_CLOSED = 141
_OUTPUT_LOST = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})


class Boundary(LazyGroup):
    """The root of all commands.

    It turns every error into one clear line. KFIX_DEBUG=1 shows the traceback, for developers.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(table=COMMANDS, **settings)

    def main(self, *args: Any, **options: Any) -> Any:
        with guarded():
            return super().main(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KfixError as error:
            say(lines("kfix: ") + str(error), err=True)
            if error.hint:
                say(f"      {error.hint}", err=True)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            say("kfix: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # `| head` has read enough. Python would report the closed pipe again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as bug:
            if isinstance(bug, OSError) and bug.errno in _OUTPUT_LOST:
                say(f"kfix: cannot write: {(bug.strerror or '').lower()}", err=True)
                raise typer.Exit(1) from None
            if os.environ.get("KFIX_DEBUG") or type(bug).__module__.startswith(("typer", "click")):
                raise
            say(f"kfix: internal error: {type(bug).__name__}: {bug}", err=True)
            say("      run the command again with KFIX_DEBUG=1 and report its output", err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    name="kfix",
    cls=Boundary,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Diagnose a faulty Kafka cluster, heal it with reviewed runbooks behind gates, and prove that it is healed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"kfix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
