"""Broker startup, shutdown, fatal errors, and ZooKeeper sessions (`KafkaServer` to 3.9, `BrokerServer` on KRaft)."""

import re

from kfix.core.events import Theme, Tone
from kfix.diagnose.brokerlog.wording import Wording, said


def _server(name: str, pattern: str, tone: Tone, text: str) -> Wording:
    pattern = rf"\[(?:KafkaServer|BrokerServer) id=(?P<broker>\d+)\] {pattern}"
    interpret = said(Theme.BROKER, tone, f"broker {{broker}} {text}")
    return Wording(name, ("KafkaServer", "BrokerServer"), re.compile(pattern), interpret)


WORDINGS = (
    _server("started", r"(?:started$|Transition from STARTING to STARTED)", Tone.GOOD, "started"),
    _server("shutting down", r"shutting down$", Tone.ACT, "began to shut down"),
    _server("shut down", r"shut down completed$", Tone.ACT, "has shut down"),
    _server(
        "unclean shutdown",
        r"Proceeding to do an unclean shutdown",
        Tone.BAD,
        "shuts down uncleanly: it could not transfer its leaders",
    ),
    _server(
        "fatal",
        r"Fatal error during (?:KafkaServer|broker) (?:startup|shutdown)",
        Tone.BAD,
        "hit a fatal error while starting or stopping",
    ),
    Wording(
        "session expired",
        ("ZooKeeperClient",),
        re.compile(r"\[ZooKeeperClient[^\]]*\] Session expired\.$"),
        said(Theme.ZOOKEEPER, Tone.BAD, "{who} lost its ZooKeeper session: it expired"),
    ),
)
