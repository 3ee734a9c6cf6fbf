"""Mistakes in a file, each with its place: `file:line:col: what, did you mean ...`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# Shortens a value from outside for a message. Python itself refuses to print a number of 5 000 digits.

_LONGEST: Final = 60
_MOST_BITS: Final = 200


def shown(value: object) -> str:
    """Returns the value in JSON's words: `'text'`, `7`, `null`, `true`, `a list`, `an object`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return short(value)


def short(value: object) -> str:
    """Returns the start of Python's own text for the value."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST_WORD = 200

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` leads to the value; the loader knows its place."""

    path: Path
    text: str
    at_key: bool = False


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns a suggestion to append to a message, a word that begins so before others; empty if none is similar."""
    if len(word) > _LONGEST_WORD:  # Comparing a long text with all names would take too long.
        return ""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    names = sorted(known)
    begun = [name for name in names if word and name.startswith(word)]
    near = begun[:1] or difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """Returns the message about an unknown word; if no known word is similar, it lists all known ones."""
    names = sorted(known)
    return f"unknown {what} {short(word)}" + (did_you_mean(word, names) or f"; known: {', '.join(names)}")
