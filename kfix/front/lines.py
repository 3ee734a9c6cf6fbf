"""A report as plain lines with an indent, before any terminal is involved, and the one place that prints them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.core.harmless import for_terminal, one_line
from kfix.front.plain import PlainConsole

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST = 40
#: No value starts at the left edge, where kfix's own lines start.
_LEAST_HANG = 2


@dataclass(frozen=True, slots=True)
class Line:
    """`hang` is the further indent of wrapped lines; a `verbatim` line is for pasting and is never wrapped."""

    text: str
    indent: int = 0
    style: str = ""
    hang: int = 0
    verbatim: bool = False


def print_lines(lines: Iterable[Line], console: Console | PlainConsole) -> None:
    width = max(console.width, NARROWEST)
    if isinstance(console, PlainConsole):
        console.write((text, line.style) for line in lines for text in _wrapped(line, width))
        return
    from kfix.front.console import styled  # noqa: PLC0415 - brings rich

    for line in lines:
        for text in _wrapped(line, width):
            # No cropping: the text is printed in full.
            console.print(styled(text, line.style), soft_wrap=True, highlight=False)


def lines_text(lines: Iterable[Line], width: int = 100) -> str:
    """Returns the lines as text without colour, for files, tests and tickets."""
    shown = (text for line in lines for text in _wrapped(line, max(width, NARROWEST)))
    return "".join(f"{for_terminal(text)}\n" for text in shown)


def height(lines: Iterable[Line], width: int) -> int:
    """Returns the rows of a terminal that the lines take, where it breaks those that are too long."""
    return sum(max(-(-len(text) // width), 1) for text in lines_text(lines, width).splitlines())


def _wrapped(line: Line, width: int) -> list[str]:
    shown = one_line(line.text)
    if line.verbatim or not shown:
        return [" " * line.indent + shown if shown else ""]
    return textwrap.wrap(
        shown,
        width=width,
        initial_indent=" " * line.indent,
        subsequent_indent=" " * max(line.indent + line.hang, _LEAST_HANG),
        break_long_words=False,
        break_on_hyphens=False,
    )
