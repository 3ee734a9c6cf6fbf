"""Lines of a pasted text without what a terminal, a chat or a container log put around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

#: Most characters of a line that are kept in a message.
_SHOWN: Final = 80
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_INVISIBLE: Final = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")
#: The numbers of `cat -n`, the quoting of mails and chats, bullets, and the name of a container in front of its log.
_BEFORE: Final = re.compile(r"^ +\d+\t|^(?:\s*(?:[>|\u2502`]|[-*\u2022](?=\s)))+\s?|^[\w.-]+\s+\|\s")
#: The time that container runtimes put in front of each line.
_STAMP: Final = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)\s+")
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019"


class PastedLine(NamedTuple):
    """`number` counts from 1; `raw` is the line as pasted, `text` is without prefixes and surrounding blanks."""

    number: int
    text: str
    raw: str

    @property
    def shown(self) -> str:
        """Returns the line for a message: `line 7: ...`."""
        raw = self.raw.strip()
        return f"line {self.number}: {raw if len(raw) <= _SHOWN else f'{raw[:_SHOWN]} ...'}"


def pasted_lines(text: str) -> Iterator[PastedLine]:
    """Yields the lines that are not blank."""
    for number, raw in enumerate(text.splitlines(), 1):
        bare = bare_line(raw)
        if bare:
            yield PastedLine(number, bare, raw)


def bare_line(raw: str) -> str:
    """Returns a line without colours, invisible characters, quoting, prefixes and surrounding blanks."""
    line = _INVISIBLE.sub("", _ANSI.sub("", raw)).replace("\u00a0", " ")
    line = _STAMP.sub("", _BEFORE.sub("", line))
    line = line.strip()
    # A pair of quotes around a whole line; JSON keeps its own.
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return line.rstrip("`").rstrip()
