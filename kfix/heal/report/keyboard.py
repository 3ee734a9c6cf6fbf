"""The person at the keyboard: what a gate shows, and the answers that are typed."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import textwrap
import time
from contextlib import suppress

from rich.console import Console

from kfix.front.console import styled

# More bytes than a terminal passes in one line.
_LONGEST_ANSWER = 4096
_NARROWEST = 40


class Terminal:
    """The human at the keyboard. It is interactive only if both input and output are a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def interactive(self) -> bool:
        return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and self._console.file.isatty()

    def show(self, text: str) -> None:
        with suppress(OSError):
            self._console.print()
            for line in text.splitlines():
                for row in _wrapped(line, self._console.width):
                    self._console.print(styled(row), soft_wrap=True)

    def ask(self, prompt: str, within: float | None = None) -> str | None:
        """Returns the answer, or None at the end of input, after `within` seconds, or if the output has gone away."""
        try:
            self._console.print(styled(prompt, "bold"), end="", soft_wrap=True)
            self._console.file.flush()
            return typed_line(within)
        except (OSError, ValueError, termios.error):
            return None


def _wrapped(line: str, width: int) -> list[str]:
    """Returns a line as rows of whole words, indented as far as what follows its label; a command stays one row."""
    label = re.match(r" *(?:\S+(?: \S+)? {2,})?", line)
    indent = " " * len(label[0] if label else "")
    if " --bootstrap-server " in line or len(indent) > width // 2:
        return [line]
    return textwrap.wrap(
        line,
        max(width, _NARROWEST),
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    ) or [""]


#: The next line of a pasted block arrives within this time (seconds); a typed one does not.
_NEXT_LINE_SECONDS = 0.05


def typed_line(within: float | None) -> str | None:
    """Returns one line typed from now on, or None. Earlier input is discarded.

    If more lines arrive with it, it is a pasted block and not an answer; a second line is then appended. The terminal
    itself is read instead of `sys.stdin`, whose buffer cannot be discarded.
    """
    keyboard = sys.stdin.fileno()
    termios.tcflush(keyboard, termios.TCIFLUSH)
    deadline = None if within is None else time.monotonic() + within
    typed = b""
    while b"\n" not in typed and len(typed) < _LONGEST_ANSWER:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if left is not None and not select.select([keyboard], [], [], left)[0]:
            return None
        more = os.read(keyboard, _LONGEST_ANSWER)
        if not more:
            return None
        typed += more
    line, _, rest = typed.partition(b"\n")
    pasted = bool(rest) or bool(select.select([keyboard], [], [], _NEXT_LINE_SECONDS)[0])
    termios.tcflush(keyboard, termios.TCIFLUSH)
    return line.decode("utf-8", "replace") + ("\n(a pasted block)\n" if pasted else "\n")
