"""Shortens a value from outside for a message. Python itself refuses to print a number of 5 000 digits."""

from __future__ import annotations

from typing import Final

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
