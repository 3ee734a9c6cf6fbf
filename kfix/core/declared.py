"""Metadata in a field's annotation besides its type, for readers and writers of files."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypeVar

from kfix.core.numbers import LARGEST_INT32, LARGEST_INT64, LARGEST_PORT, LAST_MOMENT

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest number that is valid."""

    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """The regular expression that a text contains."""

    regex: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts or measures."""

    name: str


class FieldMark(Enum):
    """What holds for a field. A plain text in an annotation is the meaning of the field.

    UNSTORED: no file and no output has it. OPTIONAL: an output may lack it. OR_NULL: a negative number stands for
    unknown, null in an output. TIME: seconds since the epoch, in ISO 8601 with Z in an output. SHARED: a mapping that
    often equals that of another entry: a file has it once, and otherwise the key of that entry.
    """

    UNSTORED = "unstored"
    OPTIONAL = "optional"
    OR_NULL = "or null"
    TIME = "time"
    SHARED = "shared"


Int16 = Annotated[int, Range(-(2**15), 2**15 - 1)]
#: Ids of brokers, numbers of partitions, epochs and versions: Kafka has 32 bits for each.
Int32 = Annotated[int, Range(-LARGEST_INT32 - 1, LARGEST_INT32)]
#: Offsets, zxids, sizes, and times in milliseconds. An `int` without a range is one.
Int64 = Annotated[int, Range(-LARGEST_INT64 - 1, LARGEST_INT64)]
Port = Annotated[int, Range(0, LARGEST_PORT)]
#: Seconds since the epoch, up to the end of Python's calendar.
Moment = Annotated[float, Range(0, LAST_MOMENT)]
#: Seconds since the epoch, UTC; an output has them in ISO 8601: 2026-03-01T07:05:09.120Z.
Seconds = Annotated[float, FieldMark.TIME]
Count = Annotated[int, Range(0, LARGEST_INT64)]
OrNull = Annotated[T, FieldMark.OR_NULL]
Unstored = Annotated[T, FieldMark.UNSTORED]
Shared = Annotated[T, FieldMark.SHARED]
