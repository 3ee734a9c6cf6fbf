"""Sessions with ZooKeeper as a broker sees them (`kafka.zookeeper.ZooKeeperClient`, 2.x and 3.x)."""

from __future__ import annotations

import re

from kfix.adapters.brokerlog.lines import Entry
from kfix.adapters.brokerlog.wording import Wording
from kfix.model.timeline import Event, Theme, Told, Tone


def _expired(_: re.Match[str], line: Entry, source: str) -> Told:
    who = source.split(":", maxsplit=1)[0]
    text = f"a broker's session with ZooKeeper expired (its log: {who})"
    return Told((Event(line.at, Theme.ZOOKEEPER, Tone.BAD, text, source),))


WORDINGS = (
    Wording(
        "session expired",
        ("ZooKeeperClient",),
        re.compile(r"\[ZooKeeperClient[^\]]*\] Session expired\.$"),
        _expired,
        (("lab, 2.7.1; the same constants in 3.9.2", "[ZooKeeperClient Kafka server] Session expired."),),
    ),
)
