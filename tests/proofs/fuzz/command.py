"""The command line, run in this process: what it exits with, and every bug as the exception that it was."""

from __future__ import annotations

import contextlib
import io
import os
from functools import cache
from typing import Any

import typer

from kfix.core.errors import KfixError

#: Every code of docs/exit-codes.md; 1 is an internal error.
CODES = frozenset({0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20, 21, 22})


class RefusedByCommandError(KfixError):
    """A command ended with one line and the exit code of a refusal."""


@cache
def _command() -> Any:
    os.environ["KFIX_DEBUG"] = "1"  # the error boundary then lets a bug through
    from kfix.shell.app import app

    return typer.main.get_command(app)


def ran(*words: str) -> tuple[int, str, str]:
    """Returns the exit code and both outputs; raises where kfix has a bug."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _command().main(list(words), prog_name="kfix", standalone_mode=False)
    return code or 0, out.getvalue(), err.getvalue()


def kfix(*words: str) -> None:
    """Returns where the command gave a result; raises where it refused, or where kfix has a bug."""
    code, out, err = ran(*words)
    if "--nagios" in words:
        assert code in {0, 1, 2, 3}, code
        return
    assert code in CODES, (code, err[:300])
    if code in {2, 3}:
        first = err.strip()
        assert first.startswith("kfix: "), first[:300]
        assert len(first.splitlines()[0]) < 4000, f"one line that a person can read: {first[:250]} ... {first[-200:]}"
        raise RefusedByCommandError(first)
    assert out or err
