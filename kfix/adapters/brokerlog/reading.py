"""Logs into what they tell: each entry is shown to the wordings of its logger, and to no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from kfix.adapters.brokerlog import files
from kfix.adapters.brokerlog.lines import Counted, Entry, LogClock, TimeWindow, entries
from kfix.adapters.brokerlog.wording import Wording
from kfix.adapters.brokerlog.wordings import ALL
from kfix.model.incident.timeline import LogStatement

#: Lines of a file among which its writer is looked for: a broker names itself at its start and at every change.
_HEAD: Final = 5000
#: What a broker says of itself.
_SELF: Final = re.compile(
    r"(?:INFO|WARN|ERROR|FATAL) \[(?:(?:Controller|Broker|KafkaServer|BrokerServer) id=(\d{1,9})\b|"
    r"Partition \S+ broker=(\d{1,9})\])"
)
#: Lines of one file that are kept as told; a broker in a loop must not fill the memory. The rest is counted.
MOST: Final = 20_000


@dataclass(slots=True)
class LogRead:
    """One file: its name in the report, what was counted, what hindered. `told`: entries that a wording fitted.

    `writer`: the broker that wrote it, by the first line that names its own id; -1 where none of the first does.
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
    """UsageError where the file cannot be opened; all else that is wrong with it is in `read`."""
    wordings = by_logger()
    read.writer = _writer(path)
    for entry in entries(files.lines(path, read.trouble), clock, window, read.counted):
        told = tell(entry._replace(writer=read.writer), wordings, f"{label}:{entry.number}")
        if told is None:
            continue
        read.recognized += 1
        if read.recognized > MOST:
            read.dropped += 1
            continue
        yield told


def _writer(path: Path) -> int:
    """By the head of the file, whatever its time: what it says of itself may lie before the time that is asked for."""
    for line in islice(files.lines(path, []), _HEAD):
        said = _SELF.search(line)
        if said is not None:
            return int(said[1] or said[2])
    return -1


def tell(entry: Entry, wordings: Mapping[str, tuple[Wording, ...]], source: str) -> LogStatement | None:
    for wording in wordings.get(entry.logger.rpartition(".")[2], ()):
        said = wording.pattern.match(entry.text)
        if said is not None:
            try:
                return wording.tell(said, entry, source)
            except (ValueError, OverflowError):
                return None  # digits that are no number of Kafka's
    return None
