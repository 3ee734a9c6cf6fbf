"""Parses a Java properties file as `java.util.Properties.load` does, with the place of each key.

Kafka's tools read the file in ISO-8859-1, and trim each value. Unlike Java, a line without `=`, `:` or a space is a
mistake: it is far more often half of a secret than a key without a value.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kfix.core.documents.opening import read_file
from kfix.core.errors import InvalidFileError, UsageError

#: Largest properties file, in bytes.
_LARGEST = 1 << 20
_BLANKS = " \t\f"
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u(.{0,4})|(.?))", re.DOTALL)
#: A key that may be shown: text of another shape may be a part of a secret.
SHOWN_KEY = re.compile(r"[a-z][a-z0-9_-]*(\.[A-Za-z0-9_-]+)+")


@dataclass(frozen=True, slots=True)
class Property:
    """The value of a key, and the place of the key; lines and columns count from 1. The value may be a secret.

    With `hidden`, a config provider gave the value or a part of it, and no message repeats it.
    """

    value: str = field(repr=False)
    line: int = 1
    column: int = 1
    hidden: bool = False


NONE = Property("")


def read_properties(path: Path) -> dict[str, Property]:
    """Returns the properties of a file; of a repeated key the last one counts.

    Raises UsageError if the file cannot be read, InvalidFileError for a line that is not a property.
    """
    try:
        raw = read_file(path, _LARGEST)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from None
    if b"\0" in raw:
        raise UsageError(f"{path}: is not a text file")
    return parse_properties(raw.decode("latin-1"), path)


def parse_properties(text: str, path: Path) -> dict[str, Property]:
    found: dict[str, Property] = {}
    problems: list[str] = []
    for line, column, logical in _logical_lines(text):
        end = _end_of_key(logical)
        where = f"{path}:{line}:{column}"
        if end == len(logical) or end == 0:
            problems.append(f"{where}: not a property: expected KEY=VALUE (not shown, it may be a secret)")
            continue
        rest = logical[end:].lstrip(_BLANKS)
        rest = rest[1:] if rest[:1] in {"=", ":"} else rest
        try:
            found[_unescaped(logical[:end])] = Property(_unescaped(rest.lstrip(_BLANKS)).strip(), line, column)
        except ValueError:
            problems.append(f"{where}: an invalid escape: \\u needs four hexadecimal digits, those of a character")
    if problems:
        raise InvalidFileError(tuple(problems))
    return found


def _logical_lines(text: str) -> list[tuple[int, int, str]]:
    """Returns (line, column, text) of each property, with its continuation lines joined."""
    found: list[tuple[int, int, str]] = []
    pending: tuple[int, int, str] | None = None
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.lstrip(_BLANKS)
        if pending is None:
            if not line or line[0] in "#!":
                continue
            pending = (number, len(raw) - len(line) + 1, "")
        # An even number of backslashes at the end is escaped backslashes, not a continuation.
        ends_in = len(line) - len(line.rstrip("\\"))
        pending = (*pending[:2], pending[2] + (line[:-1] if ends_in % 2 else line))
        if ends_in % 2 == 0:
            found.append(pending)
            pending = None
    return found if pending is None else [*found, pending]


def _end_of_key(line: str) -> int:
    """Returns the position of the first separator that is not escaped, or the length of the line."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _BLANKS:
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line.rstrip(_BLANKS)))


def _unescaped(text: str) -> str:
    """Raises ValueError for a `u` escape without four hexadecimal digits, for NUL and for half of a surrogate pair."""

    def one(match: re.Match[str]) -> str:
        code, other = match.groups()
        if code is None:
            return _ESCAPED.get(other, other)
        if not re.fullmatch(r"[0-9A-Fa-f]{4}", code):
            raise ValueError(code)
        return chr(int(code, 16))

    found = _ESCAPE.sub(one, text)
    if "\0" in found:
        raise ValueError(found)
    return found.encode("utf-16", "surrogatepass").decode("utf-16")


_NOT_SHOWN: Final = "its value comes from a config provider, and is not shown; see docs/security.md for what it may be"


class PropertiesReading:
    """The properties of one file during reading: the values taken, and all mistakes with their places."""

    def __init__(self, path: Path, values: Mapping[str, Property]) -> None:
        self.path = path
        self.values = values
        self.problems: list[str] = []

    def get(self, *keys: str, default: str = "") -> str:
        """Returns the value of the first of these keys that the file has."""
        return next((self.values[key].value for key in keys if key in self.values), default)

    def has(self, *keys: str) -> bool:
        return any(self.get(key) for key in keys)

    def items(self, key: str) -> tuple[str, ...]:
        """Returns the parts of a comma-separated value."""
        return tuple(filter(None, map(str.strip, self.get(key).split(","))))

    def problem(self, text: str, *keys: str) -> None:
        """Adds a mistake at the first of these keys that the file has, else at its beginning.

        It never repeats a value from a config provider, nor text derived from one.
        """
        named = next((key for key in keys if key in self.values), "")
        at = self.values.get(named, NONE)
        if self._hides(text, keys):
            text = f"{named or 'a value'} is not valid: {_NOT_SHOWN}"
        self.problems.append(f"{self.path}:{at.line}:{at.column}: {text}")

    def _hides(self, text: str, keys: Sequence[str]) -> bool:
        is_hidden = any(self.values[key].hidden for key in keys if key in self.values)
        hidden = (each.value.lower() for each in self.values.values() if each.hidden and each.value)
        return is_hidden or any(value in text.lower() for value in hidden)
