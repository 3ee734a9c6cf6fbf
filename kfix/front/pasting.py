"""Asks a person at a terminal for the text of `--from -`, who would otherwise see nothing happen."""

import sys
from collections.abc import Iterable
from pathlib import Path

from kfix.front.terminal import say


def ask_for_paste(files: Iterable[Path]) -> None:
    """Prints a line on standard error if one of the files is standard input, and that is a terminal."""
    if Path("-") in files and sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty():
        say("paste the text, then press Ctrl-D on an empty line", err=True)
