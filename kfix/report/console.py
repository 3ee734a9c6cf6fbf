"""The terminal, or the pipe, that reports are printed on."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console

_WIDTH = 120


class SteadyConsole(Console):
    """Where the reader of a pipe is gone, rich ends the process; a run must go on, so here only the telling ends."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        if self.file is sys.stdout:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console_on(file: TextIO) -> Console:
    """Piped text has a fixed width, so that it does not depend on who reads it."""
    width = None if file.isatty() else _WIDTH
    return SteadyConsole(file=file, width=width, highlight=False, soft_wrap=False, emoji=False, markup=False)
