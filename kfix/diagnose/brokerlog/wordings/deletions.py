"""Topic deletions (`kafka.controller.TopicDeletionManager`, 2.x and 3.x)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording

#: Assumed duration of a deletion in seconds; an unavailable broker delays it further.
_TAKES = 30.0


def _began(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    topic = match["topic"]
    text = f"deletion of topic {topic} began"
    event = Event(line.at, Theme.CONFIG, Tone.ACT, text, source, key=f"delete:{topic}", lasting=False)
    return LogStatement((event,), deleted=(topic, line.at, line.at + _TAKES))


WORDINGS = (
    Wording(
        "deletion began",
        ("TopicDeletionManager",),
        re.compile(r"\[Topic Deletion Manager \d+\] Deletion of topic (?P<topic>\S+) \(re\)started"),
        _began,
        (("lab, 2.7.1", "[Topic Deletion Manager 2] Deletion of topic ledger (re)started"),),
    ),
)
