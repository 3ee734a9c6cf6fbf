"""Ranges of Kafka's numbers, and safe parsing of integers from untrusted text."""

from typing import Final

LARGEST_INT32: Final = 2**31 - 1
LARGEST_INT64: Final = 2**63 - 1
LARGEST_PORT: Final = 65_535
#: The end of Python's calendar, in seconds since the epoch.
LAST_MOMENT: Final = 253_402_300_799.0
_MOST_DIGITS: Final = 19


def whole_number(text: str, largest: int = LARGEST_INT64) -> int | None:
    """Returns the number in ASCII digits, or None if the text is not a number or exceeds `largest`.

    In Python, a superscript two is a digit, too, and `int` raises for thousands of digits.
    """
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if number <= largest else None


def broker_id(text: str) -> int | None:
    """Returns the broker id in a key or in the name of a znode, or None."""
    return whole_number(text, LARGEST_INT32)


def is_int32(value: object) -> bool:
    return type(value) is int and -LARGEST_INT32 - 1 <= value <= LARGEST_INT32
