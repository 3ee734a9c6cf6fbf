"""Mistakes in a file, each with its place: `file:line:col: what, did you mean ...`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kfix.core.documents.shown import short

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
    """Returns a suggestion to append to a message; empty if no known word is similar."""
    if len(word) > _LONGEST_WORD:  # Comparing a long text with all names would take too long.
        return ""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """Returns the message about an unknown word; if no known word is similar, it lists all known ones."""
    names = sorted(known)
    return f"unknown {what} {short(word)}" + (did_you_mean(word, names) or f"; known: {', '.join(names)}")
