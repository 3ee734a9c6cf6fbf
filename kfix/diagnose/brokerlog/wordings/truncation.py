"""Log truncations (`Log`, `UnifiedLog`, `ReplicaFetcherThread`). "has no effect" messages are ignored."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, LogTruncation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, partition


def _cut(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp, offset, broker = partition(match["tp"]), int(match["offset"]), line.writer
    who = f"broker {broker}" if broker >= 0 else "this broker"
    text = f"{who} truncated its log to offset {offset}"
    event = Event(line.at, Theme.LOSS, Tone.BAD, text, source, None, tp, broker if broker >= 0 else None)
    return LogStatement((event,), cut=LogTruncation(line.at, tp, broker, offset))


def _below(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp, broker = partition(match["tp"]), int(match["broker"])
    text = (
        f"broker {broker} truncated its log to {match['offset']}, below its high watermark "
        f"{match['high']}: committed records are gone"
    )
    return LogStatement((Event(line.at, Theme.LOSS, Tone.BAD, text, source, None, tp, broker),))


def _conflict(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    who = f"broker {line.writer}" if line.writer >= 0 else "this broker"
    text = f"the log of {who} diverged from the leader: epochs {match['gone'].strip()} were removed"
    broker = line.writer if line.writer >= 0 else None
    return LogStatement((Event(line.at, Theme.LOSS, Tone.BAD, text, source, None, partition(match["tp"]), broker),))


WORDINGS = (
    Wording(
        "epochs struck out",
        ("LeaderEpochFileCache",),
        re.compile(
            r"\[LeaderEpochCache (?P<tp>\S+-\d+)\] New epoch entry .*? caused truncation of conflicting entries "
            r"(?:ListBuffer|ArrayBuffer|Vector)?(?P<gone>.*?)\. Cache now contains"
        ),
        _conflict,
        (
            (
                "constants of LeaderEpochFileCache in 2.7.1 and 3.9.2",
                (
                    "[LeaderEpochCache ledger-0] New epoch entry EpochEntry(epoch=4, startOffset=24) caused truncation "
                    "of conflicting entries ListBuffer(EpochEntry(epoch=3, startOffset=30)). Cache now contains 2 "
                    "entries."
                ),
            ),
        ),
    ),
    Wording(
        "truncated",
        ("Log", "UnifiedLog"),
        re.compile(
            r"\[(?:Unified)?Log partition=(?P<tp>\S+-\d+), dir=(?P<dir>.*?)\] Truncating to offset (?P<offset>\d+)$"
        ),
        _cut,
        (
            ("lab, 2.7.1", "[Log partition=ledger-0, dir=/data/broker-1] Truncating to offset 24"),
            (
                "lab, 4.3.1; the same constants in 3.9.2",
                "[UnifiedLog partition=ledger-0, dir=/data/broker-1] Truncating to offset 21",
            ),
        ),
    ),
    Wording(
        "below high watermark",
        ("ReplicaFetcherThread",),
        re.compile(
            r"\[ReplicaFetcher replicaId=(?P<broker>\d+), .*?\] Truncating (?P<tp>\S+-\d+) to offset (?P<offset>\d+) "
            r"below high watermark (?P<high>\d+)"
        ),
        _below,
        (
            (
                "constants of ReplicaFetcherThread in 2.7.1 and 3.9.2",
                (
                    "[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] "
                    "Truncating ledger-0 to offset 24 below high "
                    "watermark 48"
                ),
            ),
        ),
    ),
)
