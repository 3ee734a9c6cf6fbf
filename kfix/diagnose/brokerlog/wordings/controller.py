"""Controller elections on ZooKeeper (`kafka.controller.KafkaController`, 2.x and 3.x)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording


def _elected(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    broker, epoch = int(match["broker"]), int(match["epoch"])
    text = f"broker {broker} became the controller, epoch {epoch}"
    key = f"controller:{broker}:{epoch}"
    event = Event(line.at, Theme.CONTROLLER, Tone.NOTE, text, source, None, None, broker, key)
    return LogStatement((event,), controller=Observation(line.at, line.at, broker, epoch, None, epoch))


def _resigned(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    broker = int(match["broker"])
    text = f"broker {broker} resigned as controller"
    return LogStatement((Event(line.at, Theme.CONTROLLER, Tone.NOTE, text, source, None, None, broker),))


def _moved(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    broker = int(match["broker"])
    text = f"broker {broker} noticed that the controller had moved to another broker"
    return LogStatement((Event(line.at, Theme.CONTROLLER, Tone.BAD, text, source, None, None, broker),))


_BY = ("KafkaController",)
WORDINGS = (
    Wording(
        "elected",
        _BY,
        re.compile(
            r"\[Controller id=\d+\] (?P<broker>\d+) successfully elected as the controller\. "
            r"Epoch incremented to (?P<epoch>\d+)"
        ),
        _elected,
        (
            (
                "lab, 2.7.1; the same constants in 3.9.2",
                (
                    "[Controller id=2] 2 successfully elected as the controller. Epoch incremented to 3 and epoch zk "
                    "version is now 3"
                ),
            ),
        ),
    ),
    Wording(
        "resigned",
        _BY,
        re.compile(r"\[Controller id=(?P<broker>\d+)\] Resigned$"),
        _resigned,
        (("lab, 2.7.1; the same constants in 3.9.2", "[Controller id=1] Resigned"),),
    ),
    Wording(
        "moved",
        _BY,
        re.compile(r"\[Controller id=(?P<broker>\d+)\] Controller moved to another broker"),
        _moved,
        (
            (
                "constants of KafkaController in 2.7.1 and 3.9.2",
                "[Controller id=1] Controller moved to another broker when processing BrokerChange.",
            ),
        ),
    ),
)
