"""The person at the keyboard: what a gate shows, and the answers that are typed."""

import os
import re
import select
import sys
import termios
import time
from contextlib import suppress

from rich.console import Console

from kfix.front.console import styled
from kfix.front.lines import Line, print_lines

# More bytes than a terminal passes in one line.
_LONGEST_ANSWER = 4096


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
            print_lines(map(_line, text.splitlines()), self._console)

    def ask(self, prompt: str, within: float | None = None) -> str | None:
        """Returns the answer, or None at the end of input, after `within` seconds, or if the output has gone away."""
        try:
            self._console.print(styled(prompt, "bold"), end="", soft_wrap=True)
            self._console.file.flush()
            return typed_line(within)
        except (OSError, ValueError, termios.error):
            return None


def _line(text: str) -> Line:
    """Returns a line that wraps below what follows its label; one with a command stays whole."""
    label = re.match(r" *(?:\S+(?: \S+)? {2,})?", text)
    return Line(text, hang=len(label[0]) if label else 0, verbatim=" --bootstrap-server " in text)


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
