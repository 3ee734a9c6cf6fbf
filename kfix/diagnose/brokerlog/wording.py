"""One kind of log message: its logger, its pattern and its meaning."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kfix.core.events import LogStatement
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.brokerlog.lines import Entry

Interpret = Callable[[re.Match[str], Entry, str], LogStatement]


@dataclass(frozen=True, slots=True)
class Wording:
    """A log message of Kafka.

    loggers    last part of the logger names, since packages change (`kafka.log.Log` became
               `org.apache.kafka.storage.internals.log.UnifiedLog`)
    pattern    must match from the first character of the message
    interpret  converts a match to a `LogStatement`
    examples   (source, message) of real messages; tests parse each of them
    """

    name: str
    loggers: tuple[str, ...]
    pattern: re.Pattern[str]
    interpret: Interpret
    examples: tuple[tuple[str, str], ...]


def partition(name: str) -> TopicPartition:
    """Parses `orders-3`: the number follows the last dash, since topic names may contain dashes."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def ids(text: str) -> tuple[int, ...]:
    """Parses `1,2`, `1, 2`, `List(1, 2)`, `[1, 2]`, and `List(BrokerState(brokerId=1, ...), ...)` of 3.5 and later."""
    if "brokerId" in text:
        return tuple(map(int, re.findall(r"brokerId=(-?\d+)", text)))
    return tuple(map(int, re.findall(r"-?\d+", text)))
