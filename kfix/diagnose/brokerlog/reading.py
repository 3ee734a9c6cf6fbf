"""Interprets log entries: each entry is matched with the wordings of its logger only."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from kfix.core.events import LogStatement
from kfix.diagnose.brokerlog import files
from kfix.diagnose.brokerlog.lines import Counted, Entry, LogClock, TimeWindow, entries
from kfix.diagnose.brokerlog.wording import Wording
from kfix.diagnose.brokerlog.wordings import ALL

#: Lines in which the broker id is searched: a broker logs its id at the start and at every change.
_HEAD: Final = 5000
#: Messages in which a broker logs its own id.
_SELF: Final = re.compile(
    r"(?:INFO|WARN|ERROR|FATAL) \[(?:(?:Controller|Broker|KafkaServer|BrokerServer) id=(\d{1,9})\b|"
    r"Partition \S+ broker=(\d{1,9})\])"
)
#: Most recognized entries of one file that are kept, since a broker may log in a loop; the rest is counted.
MOST: Final = 20_000


@dataclass(slots=True)
class LogRead:
    """The result for one file. `recognized` counts the entries that match a wording; `dropped` those not kept.

    `writer` is the broker id from the first line that contains it, -1 if there is none near the start.
    """

    label: str
    counted: Counted = field(default_factory=Counted)
    writer: int = -1
    recognized: int = 0
    dropped: int = 0
    trouble: list[str] = field(default_factory=list)


def by_logger() -> Mapping[str, tuple[Wording, ...]]:
    found: dict[str, tuple[Wording, ...]] = {}
    for wording in ALL:
        for logger in wording.loggers:
            found[logger] = (*found.get(logger, ()), wording)
    return found


def read_log(path: Path, label: str, clock: LogClock, window: TimeWindow, read: LogRead) -> Iterator[LogStatement]:
    """Yields the statements of a log; `read` receives counts and problems.

    Raises UsageError if the file cannot be opened.
    """
    wordings = by_logger()
    read.writer = _writer(path)
    for entry in entries(files.lines(path, read.trouble), clock, window, read.counted):
        statement = interpret(entry._replace(writer=read.writer), wordings, f"{label}:{entry.number}")
        if statement is None:
            continue
        read.recognized += 1
        if read.recognized > MOST:
            read.dropped += 1
            continue
        yield statement


def _writer(path: Path) -> int:
    """Returns the broker id from the start of the file, even if that is outside the requested period."""
    for line in islice(files.lines(path, []), _HEAD):
        match = _SELF.search(line)
        if match is not None:
            return int(match[1] or match[2])
    return -1


def interpret(entry: Entry, wordings: Mapping[str, tuple[Wording, ...]], source: str) -> LogStatement | None:
    for wording in wordings.get(entry.logger.rpartition(".")[2], ()):
        match = wording.pattern.match(entry.text)
        if match is not None:
            try:
                return wording.interpret(match, entry, source)
            except (ValueError, OverflowError):
                return None  # digits that are not a valid Kafka number
    return None
