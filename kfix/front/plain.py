"""A console for lines of one style each, enough for a diagnosis: rich takes as long to load as 10 000 partitions."""

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import Final, TextIO

from kfix.core.harmless import for_terminal
from kfix.front.terminal import beneath, discard_rest

_PIPE_WIDTH: Final = 120
_FALLBACK = 80
#: The words of rich's styles, so that a line looks the same on either console.
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


class PlainConsole:
    """Writes lines to a file, with colours only on a terminal, as `kfix.front.terminal` does for a closed pipe."""

    def __init__(self, file: TextIO) -> None:
        self._file = beneath(file)
        self._coloured = _takes_colours(self._file)
        self.is_terminal = self._file.isatty()
        self.width = _width(self._file)

    def write(self, lines: Iterable[tuple[str, str]]) -> None:
        """Writes (text, style) lines at once; every text is one line."""
        text = "".join(f"{self._styled(for_terminal(line), style)}\n" for line, style in lines)
        encoding = self._file.encoding or "utf-8"
        try:
            self._file.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._file.flush()
        except BrokenPipeError:
            discard_rest(self._file)

    def clear(self) -> None:
        """Clears the screen, so that the next lines begin at its top. Only for a terminal."""
        self._file.write("\x1b[H\x1b[2J\x1b[3J")

    def erase(self, rows: int) -> None:
        """Erases the last `rows` rows, so that the next lines take their place. Only for a terminal."""
        self._file.write(f"\x1b[{rows}A\r\x1b[J")
        self._file.flush()

    def _styled(self, text: str, style: str) -> str:
        if not (self._coloured and style and text):
            return text
        return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"


def _takes_colours(file: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "").lower() in {"dumb", "unknown"}:
        return False
    forced = os.environ.get("FORCE_COLOR")
    return file.isatty() if forced is None else forced != ""


def columns_width() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else None


def pipe_width() -> int:
    """Returns the width of piped text: COLUMNS, or 120."""
    return columns_width() or _PIPE_WIDTH


def _width(file: TextIO) -> int:
    if (width := columns_width()) is not None:
        return width
    if not file.isatty():
        return pipe_width()
    for stream in (file, sys.__stdin__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if columns := os.get_terminal_size(stream.fileno()).columns:  # type: ignore[union-attr]
                return columns
    return _FALLBACK
