"""One wording of Kafka: which logger writes it, since when, what it looks like, what it tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kfix.adapters.brokerlog.lines import Entry
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.incident.timeline import LogStatement

Tell = Callable[[re.Match[str], Entry, str], LogStatement]


@dataclass(frozen=True, slots=True)
class Wording:
    """`loggers`: last part of the loggers' names, which outlive moves of packages (`kafka.log.Log` became
    `org.apache.kafka.storage.internals.log.UnifiedLog`). `pattern` must fit from the message's first character on.

    `examples` are real lines' messages, each with where it was taken from; tests read every one.
    """

    name: str
    loggers: tuple[str, ...]
    pattern: re.Pattern[str]
    tell: Tell
    examples: tuple[tuple[str, str], ...]


def partition(name: str) -> TopicPartition:
    """`orders-3`: the number is after the last dash, names of topics have dashes too."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def ids(text: str) -> tuple[int, ...]:
    """`1,2`, `1, 2`, `List(1, 2)`, `[1, 2]`; also `List(BrokerState(brokerId=1, ...), ...)` of 3.5 and later."""
    if "brokerId" in text:
        return tuple(map(int, re.findall(r"brokerId=(-?\d+)", text)))
    return tuple(map(int, re.findall(r"-?\d+", text)))
