"""Ranges of Kafka's numbers, for what is checked by hand because a live diagnosis reads thousands of it (docs/adr/012)."""

from __future__ import annotations

from typing import Final

LARGEST_INT32: Final = 2**31 - 1
LARGEST_INT64: Final = 2**63 - 1
LARGEST_PORT: Final = 65_535
#: The end of Python's calendar, in seconds since the epoch.
LAST_MOMENT: Final = 253_402_300_799.0
_MOST_DIGITS: Final = 10


def broker_id(text: str) -> int | None:
    """The id that a key or a znode's name spells; None where it spells none."""
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if number <= LARGEST_INT32 else None


def is_int32(value: object) -> bool:
    return type(value) is int and -LARGEST_INT32 - 1 <= value <= LARGEST_INT32
