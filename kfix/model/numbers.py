"""Ranges of Kafka's numbers, and whole numbers out of text that anybody may have written."""

from __future__ import annotations

from typing import Final

LARGEST_INT32: Final = 2**31 - 1
LARGEST_INT64: Final = 2**63 - 1
LARGEST_PORT: Final = 65_535
#: The end of Python's calendar, in seconds since the epoch.
LAST_MOMENT: Final = 253_402_300_799.0
_MOST_DIGITS: Final = 19


def whole_number(text: str, largest: int = LARGEST_INT64) -> int | None:
    """The number that plain digits spell; None where they spell none, or one above `largest`.

    Python calls a superscript two a digit, and refuses to read thousands of them.
    """
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if number <= largest else None


def broker_id(text: str) -> int | None:
    """The id that a key or a znode's name spells; None where it spells none."""
    return whole_number(text, LARGEST_INT32)


def is_int32(value: object) -> bool:
    return type(value) is int and -LARGEST_INT32 - 1 <= value <= LARGEST_INT32
