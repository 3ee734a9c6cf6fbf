"""Arguments of actions and probes: few kinds, plain JSON values, with typed accessors.

A plan holds these values literally, so that the approved plan and the run can be compared byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from kfix.core.numbers import broker_id
from kfix.core.snapshot.snapshot import TopicPartition

T = TypeVar("T")
ArgValue = int | float | str | bool | tuple[int, ...]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(ms|s|m|h)")
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d{1,19}(?:\.\d{1,12})?)(B|[KMGT]B|[KMG]iB)")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")

#: The value of a key that the resource itself does not set: its default is in force. No Kafka value looks like it.
ABSENT = "(absent)"


class ArgKind(StrEnum):
    """The kind of an argument or a parameter. The value is the word used in YAML and in messages."""

    PARTITION = "partition"
    BROKERS = "brokers"
    INT = "int"
    BOOL = "bool"
    TEXT = "text"
    DURATION = "duration"
    BROKER = "broker"
    TOPIC = "topic"
    RATE = "rate"
    BYTES = "bytes"


def parse_partition(text: str) -> TopicPartition:
    """Parses `topic-3`; a topic may contain dashes, so the last one counts. Raises ValueError."""
    topic, dash, number = text.rpartition("-")
    partition = broker_id(number)
    if not dash or not topic or partition is None:
        raise ValueError(f"{text[:300]!r} is not a partition such as orders-3")
    return TopicPartition(topic, partition)


def parse_duration(value: object) -> float:
    """Returns `90s`, `2m`, `200ms` in seconds. Raises ValueError, also for a number without a unit."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a duration such as 200ms, 90s, 2m or 1h")
    return float(match[1]) * _UNITS[match[2]]


def parse_bytes(value: object) -> int:
    """Returns `50MB`, `1GiB` in bytes. Raises ValueError, also for a number without a unit."""
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a size such as 500KB, 50MB or 2GiB")
    return int(float(match[1]) * _SIZES[match[2]])


def parse_rate(value: object) -> int:
    """Returns `50MB/s` in bytes per second. Raises ValueError, also below 1: that would stop replication."""
    size, slash, unit = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not slash or unit != "s":
        raise ValueError(f"{value!r} is not a rate such as 500KB/s or 50MB/s")
    rate = parse_bytes(size)
    if rate < 1:
        raise ValueError(f"{value!r} moves nothing")
    return rate


def coerce(kind: ArgKind, value: object) -> ArgValue:  # noqa: PLR0911, C901 - one return a kind
    """Converts an untyped value into an argument, the only place to do so; raises ValueError with the expected kind."""
    match kind, value:
        case ArgKind.PARTITION, TopicPartition() | str():
            return str(parse_partition(str(value)))
        case ArgKind.BROKERS, list() | tuple() if all(type(b) is int for b in value):
            return tuple(value)
        # In Python a bool is an int; for an operator `true` is not a number.
        case (ArgKind.INT | ArgKind.RATE | ArgKind.BYTES, int()) if type(value) is int:
            return value
        case (ArgKind.BROKER, int()) if type(value) is int and value >= 0:
            return value
        case (ArgKind.TOPIC, str()) if _TOPIC.fullmatch(value) and value not in {".", ".."}:
            return value
        case ArgKind.RATE, _:
            return parse_rate(value)
        case ArgKind.BYTES, _:
            return parse_bytes(value)
        case ArgKind.BOOL, bool():
            return value
        case ArgKind.TEXT, str():
            return value
        case ArgKind.DURATION, float():
            return value
        case ArgKind.DURATION, _:
            return parse_duration(value)
    raise ValueError(f"{value!r} is not of the kind {kind.value}")


@dataclass(frozen=True, slots=True)
class Args(Mapping[str, ArgValue]):
    """Literal arguments. The accessors raise TypeError for a value of another kind, which is a defect of kfix."""

    values_: Mapping[str, ArgValue] = field(default_factory=dict)

    def __getitem__(self, key: str) -> ArgValue:
        return self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def __hash__(self) -> int:
        return hash(frozenset(self.values_.items()))

    def with_(self, **more: ArgValue) -> Args:
        return Args({**self.values_, **more})

    def only(self, *keys: str) -> Args:
        return Args({key: self.values_[key] for key in keys})

    def tp(self, key: str = "partition") -> TopicPartition:
        return parse_partition(self.text(key))

    def text(self, key: str) -> str:
        return self._of(key, str, "text")

    def number(self, key: str) -> int:
        return self._of(key, int, "a whole number")

    def seconds(self, key: str) -> float:
        return self._of(key, float, "a duration")

    def flag(self, key: str) -> bool:
        return self._of(key, bool, "true or false")

    def brokers(self, key: str) -> tuple[int, ...]:
        return self._of(key, tuple, "a list of brokers")

    def _of(self, key: str, kind: type[T], words: str) -> T:
        value = self.values_[key]
        if not isinstance(value, kind):
            raise TypeError(f"{key} is {value!r}, wanted {words}")
        return value
