"""Parses log lines into entries in one pass, with bounded memory. No content of a log can stop it.

The pattern is Kafka's default: `[%d] %p %m (%c)%n` of `config/log4j.properties` (to 3.9) and of
`config/log4j2.yaml` (4.x); `%d` is local time without a zone. A stack trace follows its entry and has no time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

#: Most characters of a line that are read. Kafka's longest lines have a few thousand.
LONGEST: Final = 16_384
_HEAD: Final = re.compile(
    r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d):(\d\d)[,.](\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +(.*)", re.DOTALL
)
_LOGGER: Final = re.compile(r"(.*) \(([\w.$-]+)\)\s*", re.DOTALL)
_UNTEXT: Final = re.compile("[\x00-\x08\x0e-\x1a\ufffd]")


class Entry(NamedTuple):
    """A log entry. `logger` is "" if the message continues on the next line, as in Kafka's config dump.

    `at` is in seconds since the epoch; `writer` is the broker id according to the log, or -1.
    """

    at: float
    level: str
    text: str
    logger: str
    number: int
    writer: int = -1


@dataclass(slots=True)
class Counted:
    """Counts for a file. `outside`: entries outside the requested period; `torn`: lines that are not log lines."""

    entries: int = 0
    outside: int = 0
    continued: int = 0
    torn: int = 0
    cut: int = 0
    first: float | None = None
    last: float | None = None


class LogClock:
    """Converts local times of a time zone to seconds since the epoch; each minute is converted once.

    In the repeated hour at the end of daylight saving time, the first one is assumed: a log does not distinguish them.
    """

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self._minutes: dict[str, float] = {}

    def seconds(self, minute: str, second: str, milli: str) -> float:
        """Returns seconds since the epoch. Raises ValueError for an invalid time."""
        known = self._minutes.get(minute)
        if known is None:
            local = datetime.strptime(minute.replace("T", " "), "%Y-%m-%d %H:%M").replace(tzinfo=self._zone)
            if len(self._minutes) > 100_000:
                self._minutes.clear()
            known = self._minutes[minute] = local.timestamp()
        return known + int(second) + int(milli) / 1000

    def text(self, at: float) -> str:
        """Returns a time as a log in this zone writes it, so that lines can be compared without conversion."""
        moment = datetime.fromtimestamp(at, UTC).astimezone(self._zone)
        return moment.strftime("%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A period in seconds since the epoch, both ends included."""

    since: float
    until: float

    def texts(self, clock: LogClock) -> tuple[str, str]:
        """Returns text bounds for a fast check, wider by 3 h because of daylight saving time."""
        spare = timedelta(hours=3).total_seconds()
        return clock.text(max(self.since - spare, 0.0)), clock.text(min(self.until + spare, 32_503_680_000.0))


def entries(lines: Iterable[str], clock: LogClock, window: TimeWindow, counted: Counted) -> Iterator[Entry]:
    """Yields the entries in the window and updates `counted`."""
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
