"""Broker registrations as logged by the controller (`kafka.controller.KafkaController`, 2.x and 3.x)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, ids


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


WORDINGS = (
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
