"""Elections, registrations and deletions as logged by the controller on ZooKeeper (2.x and 3.x)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, ids

# Controller elections on ZooKeeper (`kafka.controller.KafkaController`, 2.x and 3.x).


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


# Broker registrations as logged by the controller (`kafka.controller.KafkaController`, 2.x and 3.x).


def _changed(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    gone, came, back = ids(match["gone"]), ids(match["came"]), ids(match["bounced"])
    changes = (
        *((b, Tone.BAD, "gone", "is no longer registered in ZooKeeper") for b in gone),
        *((b, Tone.GOOD, "up", "registered") for b in came),
        *((b, Tone.BAD, "up", "re-registered: it restarted, or its session expired") for b in back),
    )
    events = tuple(
        Event(
            line.at, Theme.BROKER, tone, f"broker {b} {text}", source, None, None, b, key=f"{kind}:{b}", lasting=False
        )
        for b, tone, kind, text in changes
    )
    known = tuple((b, Observation(line.at, line.at, -1, -1, None)) for b in gone)
    return LogStatement(events, brokers=known)


REGISTRATIONS = (
    Wording(
        "brokers changed",
        ("KafkaController",),
        re.compile(
            r"\[Controller id=\d+\] Newly added brokers: (?P<came>[\d,]*), deleted brokers: (?P<gone>[\d,]*), "
            r"bounced brokers: (?P<bounced>[\d,]*), all live brokers:"
        ),
        _changed,
        (
            (
                "lab, 2.7.1; the same constants in 3.9.2",
                (
                    "[Controller id=2] Newly added brokers: , deleted brokers: "
                    "3, bounced brokers: , all live brokers: 1,2"
                ),
            ),
        ),
    ),
)


# Topic deletions (`kafka.controller.TopicDeletionManager`, 2.x and 3.x).

#: Assumed duration of a deletion in seconds; an unavailable broker delays it further.
_TAKES = 30.0


def _began(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    topic = match["topic"]
    text = f"deletion of topic {topic} began"
    event = Event(line.at, Theme.CONFIG, Tone.ACT, text, source, key=f"delete:{topic}", lasting=False)
    return LogStatement((event,), deleted=(topic, line.at, line.at + _TAKES))


DELETIONS = (
    Wording(
        "deletion began",
        ("TopicDeletionManager",),
        re.compile(r"\[Topic Deletion Manager \d+\] Deletion of topic (?P<topic>\S+) \(re\)started"),
        _began,
        (("lab, 2.7.1", "[Topic Deletion Manager 2] Deletion of topic ledger (re)started"),),
    ),
)
