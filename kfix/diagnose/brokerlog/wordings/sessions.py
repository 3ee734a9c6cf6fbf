"""ZooKeeper sessions of brokers (`kafka.zookeeper.ZooKeeperClient`, 2.x and 3.x)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording


def _expired(_: re.Match[str], line: Entry, source: str) -> LogStatement:
    who = f"broker {line.writer}" if line.writer >= 0 else f"the broker of {source.rpartition(':')[0]}"
    broker = line.writer if line.writer >= 0 else None
    text = f"{who} lost its ZooKeeper session: it expired"
    return LogStatement((Event(line.at, Theme.ZOOKEEPER, Tone.BAD, text, source, None, None, broker),))


WORDINGS = (
    Wording(
        "session expired",
        ("ZooKeeperClient",),
        re.compile(r"\[ZooKeeperClient[^\]]*\] Session expired\.$"),
        _expired,
        (("lab, 2.7.1; the same constants in 3.9.2", "[ZooKeeperClient Kafka server] Session expired."),),
    ),
)
