"""A page in Markdown for a terminal: headings in bold, wrapped paragraphs, and commands that are never wrapped."""

import re
from collections.abc import Iterator
from typing import Final

from kfix.front.lines import Line

_BULLET: Final = re.compile(r"(?P<indent> *)(?P<mark>[-*]|\d+\.) +")
_INLINE: Final = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|`(?P<code>[^`]+)`")
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def markdown_lines(text: str) -> Iterator[Line]:
    """Returns the lines of a page; a table and a fenced block are shown as they are written."""
    fenced = False
    for row in text.splitlines():
        if row.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or row.startswith("|"):
            yield Line(row, 4 if fenced else 0, style="" if fenced else "dim", verbatim=True)
        elif row.startswith("#"):
            yield Line(_plain(row.lstrip("# ")), style="bold")
        else:
            yield _prose(row)


def _prose(row: str) -> Line:
    bullet = _BULLET.match(row)
    if bullet is None:
        return Line(_plain(row))
    return Line(_plain(row.lstrip()), len(bullet["indent"]), hang=len(bullet["mark"]) + 1)


def _plain(text: str) -> str:
    """Returns the text without the marks of emphasis, code and links."""
    return _INLINE.sub(lambda match: match["strong"] or match["code"], _LINK.sub(r"\1", text))
