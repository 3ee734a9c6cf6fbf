"""Broker startup, shutdown, fatal errors, and ZooKeeper sessions."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Interpret, Wording

# Broker startup, shutdown and fatal errors (`KafkaServer`, `BrokerServer`, `KafkaRaftServer`).


def _is(text: str, tone: Tone) -> Interpret:
    def interpret(match: re.Match[str], line: Entry, source: str) -> LogStatement:
        broker = int(match["broker"])
        event = Event(line.at, Theme.BROKER, tone, f"broker {broker} {text}", source, None, None, broker)
        return LogStatement((event,))

    return interpret


_BY = ("KafkaServer", "BrokerServer")
_AT = r"\[(?:KafkaServer|BrokerServer) id=(?P<broker>\d+)\] "
WORDINGS = (
    Wording(
        "started",
        _BY,
        re.compile(_AT + r"(?:started$|Transition from STARTING to STARTED)"),
        _is("started", Tone.GOOD),
        (
            ("lab, 2.7.1; the same constants in 3.9.2", "[KafkaServer id=2] started"),
            (
                "lab, 4.3.1; the same constants in 3.9.2",
                "[BrokerServer id=1] Transition from STARTING to STARTED",
            ),
        ),
    ),
    Wording(
        "shutting down",
        _BY,
        re.compile(_AT + r"shutting down$"),
        _is("began to shut down", Tone.ACT),
        (("constants of KafkaServer in 2.7.1, of BrokerServer in 3.9.2", "[KafkaServer id=2] shutting down"),),
    ),
    Wording(
        "shut down",
        _BY,
        re.compile(_AT + r"shut down completed$"),
        _is("has shut down", Tone.ACT),
        (("constants of KafkaServer in 2.7.1, of BrokerServer in 3.9.2", "[KafkaServer id=2] shut down completed"),),
    ),
    Wording(
        "unclean shutdown",
        _BY,
        re.compile(_AT + r"Proceeding to do an unclean shutdown"),
        _is("shuts down uncleanly: it could not transfer its leaders", Tone.BAD),
        (
            (
                "constants of KafkaServer in 2.7.1 and 3.9.2",
                (
                    "[KafkaServer id=2] Proceeding to do an unclean shutdown as all the controlled shutdown attempts "
                    "failed"
                ),
            ),
        ),
    ),
    Wording(
        "fatal",
        _BY,
        re.compile(_AT + r"Fatal error during (?:KafkaServer|broker) (?:startup|shutdown)"),
        _is("hit a fatal error while starting or stopping", Tone.BAD),
        (
            (
                "constants of KafkaServer in 2.7.1 and 3.9.2",
                "[KafkaServer id=2] Fatal error during KafkaServer startup. Prepare to shutdown",
            ),
            (
                "constants of BrokerServer in 3.9.2",
                "[BrokerServer id=2] Fatal error during broker startup. Prepare to shutdown",
            ),
        ),
    ),
)


# ZooKeeper sessions of brokers (`kafka.zookeeper.ZooKeeperClient`, 2.x and 3.x).


def _expired(_: re.Match[str], line: Entry, source: str) -> LogStatement:
    who = f"broker {line.writer}" if line.writer >= 0 else f"the broker of {source.rpartition(':')[0]}"
    broker = line.writer if line.writer >= 0 else None
    text = f"{who} lost its ZooKeeper session: it expired"
    return LogStatement((Event(line.at, Theme.ZOOKEEPER, Tone.BAD, text, source, None, None, broker),))


SESSIONS = (
    Wording(
        "session expired",
        ("ZooKeeperClient",),
        re.compile(r"\[ZooKeeperClient[^\]]*\] Session expired\.$"),
        _expired,
        (("lab, 2.7.1; the same constants in 3.9.2", "[ZooKeeperClient Kafka server] Session expired."),),
    ),
)
