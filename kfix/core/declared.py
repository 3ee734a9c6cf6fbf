"""Metadata in a field's annotation besides its type, for readers and writers of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

from kfix.core.numbers import LARGEST_INT32, LARGEST_INT64, LARGEST_PORT, LAST_MOMENT

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest number that is valid."""

    least: float
    greatest: float


#: Marks a field that no file stores.
UNSTORED: Final = "unstored"
#: Marks a mapping that often equals another entry's: a file has it once, and otherwise the key of that entry.
SHARED: Final = "shared"

Int16 = Annotated[int, Range(-(2**15), 2**15 - 1)]
#: Ids of brokers, numbers of partitions, epochs and versions: Kafka has 32 bits for each.
Int32 = Annotated[int, Range(-LARGEST_INT32 - 1, LARGEST_INT32)]
#: Offsets, zxids, sizes, and times in milliseconds. An `int` without a range is one.
Int64 = Annotated[int, Range(-LARGEST_INT64 - 1, LARGEST_INT64)]
Port = Annotated[int, Range(0, LARGEST_PORT)]
#: Seconds since the epoch, up to the end of Python's calendar.
Moment = Annotated[float, Range(0, LAST_MOMENT)]
Unstored = Annotated[T, UNSTORED]
Shared = Annotated[T, SHARED]
