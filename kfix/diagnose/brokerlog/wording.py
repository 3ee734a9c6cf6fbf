"""One kind of log message: its logger, its pattern and its meaning."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kfix.core.events import Event, LogStatement, Theme, Tone
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.brokerlog.lines import Entry

Interpret = Callable[[re.Match[str], Entry, str], LogStatement]


@dataclass(frozen=True, slots=True)
class Wording:
    """A log message of Kafka. Tests parse real ones: tests/unit/diagnose/brokerlog/messages.yaml.

    loggers    last part of the logger names, since packages change (`kafka.log.Log` became
               `org.apache.kafka.storage.internals.log.UnifiedLog`)
    pattern    must match from the first character of the message
    interpret  converts a match to a `LogStatement`
    """

    name: str
    loggers: tuple[str, ...]
    pattern: re.Pattern[str]
    interpret: Interpret


def said(theme: Theme, tone: Tone, text: str, key: str = "", *, lasting: bool = True) -> Interpret:
    """Returns what makes an event of a message: the named groups of its pattern complete `text` and `key`.

    The groups `tp` and `broker` are also the partition and the broker of the event. `{who}` in the text stands for the
    broker that wrote the log, which is then that of the event.
    """

    def interpret(match: re.Match[str], line: Entry, source: str) -> LogStatement:
        parts = match.groupdict()
        tp = partition(parts["tp"]) if parts.get("tp") else None
        broker = int(parts["broker"]) if "broker" in parts else None
        if "{who}" in text:
            broker = line.writer if line.writer >= 0 else None
            parts["who"] = f"the broker of {source.rpartition(':')[0]}" if broker is None else f"broker {broker}"
        words, same = text.format_map(parts), key.format_map(parts)
        return LogStatement((Event(line.at, theme, tone, words, source, None, tp, broker, same, lasting),))

    return interpret


def partition(name: str) -> TopicPartition:
    """Parses `orders-3`: the number follows the last dash, since topic names may contain dashes."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def ids(text: str) -> tuple[int, ...]:
    """Parses `1,2`, `1, 2`, `List(1, 2)`, `[1, 2]`, and `List(BrokerState(brokerId=1, ...), ...)` of 3.5 and later."""
    if "brokerId" in text:
        return tuple(map(int, re.findall(r"brokerId=(-?\d+)", text)))
    return tuple(map(int, re.findall(r"-?\d+", text)))
