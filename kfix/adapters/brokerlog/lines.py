"""Lines of a log into entries, one pass, bounded memory. Nothing that stands in a log can end the reading.

The pattern is the one Kafka ships: `[%d] %p %m (%c)%n` of `config/log4j.properties` (to 3.9) and of
`config/log4j2.yaml` (4.x); `%d` is local time without a zone. A stack trace follows its entry and has no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

#: Characters of a line that are read; the rest of a longer one is skipped. Kafka's own longest are some thousand.
LONGEST: Final = 16_384
_HEAD: Final = re.compile(
    r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d):(\d\d)[,.](\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +(.*)", re.DOTALL
)
_LOGGER: Final = re.compile(r"(.*) \(([\w.$-]+)\)\s*", re.DOTALL)
_UNTEXT: Final = re.compile("[\x00-\x08\x0e-\x1a\ufffd]")


class Entry(NamedTuple):
    """`logger` "" where the message goes on in the next line: Kafka writes its settings so.

    `writer` is the broker whose log it is, by what the log says of itself; -1: it does not.
    """

    at: float
    level: str
    text: str
    logger: str
    number: int
    writer: int = -1


@dataclass(slots=True)
class Counted:
    """What was in a file. `outside`: entries out of the time that was asked for. `torn`: lines that are no log's."""

    entries: int = 0
    outside: int = 0
    continued: int = 0
    torn: int = 0
    cut: int = 0
    first: float | None = None
    last: float | None = None


class LogClock:
    """Local times of a zone into seconds since the epoch; a minute is worked out once.

    In the hour that a zone repeats in autumn the first passage is meant, since the log does not tell.
    """

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self._minutes: dict[str, float] = {}

    def seconds(self, minute: str, second: str, milli: str) -> float:
        """ValueError where the digits are no time."""
        known = self._minutes.get(minute)
        if known is None:
            local = datetime.strptime(minute.replace("T", " "), "%Y-%m-%d %H:%M").replace(tzinfo=self._zone)
            if len(self._minutes) > 100_000:
                self._minutes.clear()
            known = self._minutes[minute] = local.timestamp()
        return known + int(second) + int(milli) / 1000

    def text(self, at: float) -> str:
        """As a log of this zone writes it, so that lines can be compared before they are worked out."""
        moment = datetime.fromtimestamp(at, UTC).astimezone(self._zone)
        return moment.strftime("%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Seconds since the epoch, both ends included."""

    since: float
    until: float

    def texts(self, clock: LogClock) -> tuple[str, str]:
        """Bounds for a comparison of texts, wider by what a change of clocks can move: outside them is outside."""
        spare = timedelta(hours=3).total_seconds()
        return clock.text(max(self.since - spare, 0.0)), clock.text(min(self.until + spare, 32_503_680_000.0))


def entries(lines: Iterable[str], clock: LogClock, window: TimeWindow, counted: Counted) -> Iterator[Entry]:
    """Entries in the window; `counted` is filled on the way."""
    low, high = window.texts(clock)
    inside = False
    for number, line in enumerate(lines, 1):
        counted.cut += len(line) >= LONGEST
        if line.startswith("[") and line[1:5].isdigit() and line[5:6] == "-":
            if not low <= line[1:20].replace("T", " ") <= high and _HEAD.match(line):
                counted.outside += 1
                continue
            entry = _entry(line, clock, number)
            if entry is None:
                counted.torn += 1
                continue
            inside = True
            if not window.since <= entry.at <= window.until:
                counted.outside += 1
                continue
            counted.entries += 1
            counted.first = entry.at if counted.first is None else min(counted.first, entry.at)
            counted.last = entry.at if counted.last is None else max(counted.last, entry.at)
            yield entry
        elif line.strip():
            text = inside and not _UNTEXT.search(line)
            counted.continued += text
            counted.torn += not text


def _entry(line: str, clock: LogClock, number: int) -> Entry | None:
    head = _HEAD.match(line)
    if head is None or _UNTEXT.search(line):
        return None
    try:
        at = clock.seconds(head[1], head[2], head[3])
    except (ValueError, OverflowError):
        return None
    tail = _LOGGER.fullmatch(head[5])
    return Entry(at, head[4], tail[1] if tail else head[5].rstrip(), tail[2] if tail else "", number)
