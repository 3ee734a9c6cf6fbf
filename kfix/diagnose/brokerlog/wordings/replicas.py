"""ISR changes by leaders, and truncations of logs."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, LogTruncation, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, ids, partition

# ISR changes by leaders (`kafka.cluster.Partition`): the request, and what the controller or ZooKeeper accepted.

_NOT_SAID = -2


def _wanted(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Returns a request only: a leader without a connection to the controller logs it forever.

    Source: docs/facts/network-partitions.md.
    """
    tp, broker = partition(match["tp"]), int(match["broker"])
    old, new = ids(match["old"]), ids(match["new"])
    shrinks = match["how"] == "Shrinking"
    verb = "shrinks" if shrinks else "expands"
    text = f"leader {broker} {verb} the ISR {_list(old)} \u2192 {_list(new)}"
    return LogStatement(
        (Event(line.at, Theme.ISR, Tone.BAD if shrinks else Tone.GOOD, text, source, None, tp, broker),)
    )


def _updated(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp, isr, version = partition(match["tp"]), ids(match["isr"]), int(match["version"])
    key = f"isr:{tp}:{','.join(map(str, sorted(isr)))}"
    text = f"ISR is now {_list(isr)}"
    event = Event(line.at, Theme.ISR, Tone.PLAIN, text, source, None, tp, key=key, lasting=False)
    return LogStatement((event,), partitions=((tp, Observation(line.at, line.at, _NOT_SAID, -1, isr, version)),))


def _skipped(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp, broker = partition(match["tp"]), int(match["broker"])
    text = f"the ISR change of broker {broker} was rejected: ZooKeeper has a newer record than this leader"
    return LogStatement((Event(line.at, Theme.ISR, Tone.BAD, text, source, None, tp, broker),))


def _list(isr: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, isr))}]"


_BY = ("Partition",)
_AT = r"\[Partition (?P<tp>\S+-\d+) broker=(?P<broker>\d+)\] "
WORDINGS = (
    Wording(
        "isr wanted",
        _BY,
        re.compile(_AT + r"(?P<how>Shrinking|Expanding) ISR from (?P<old>[\d,]*) to (?P<new>[\d,]*)"),
        _wanted,
        (
            (
                "lab, 2.7.1; the same constants in 3.9.2",
                (
                    "[Partition orders-0 broker=1] Shrinking ISR from 1,2,3 to "
                    "1. Leader: (highWatermark: 20, endOffset: "
                    "21). Out of sync replicas: (brokerId: 2, endOffset: 20) (brokerId: 3, endOffset: 20)."
                ),
            ),
            ("constants of Partition in 2.7.1", "[Partition orders-0 broker=1] Expanding ISR from 1 to 1,2"),
        ),
    ),
    Wording(
        "isr updated",
        _BY,
        re.compile(
            _AT + r"ISR updated (?:from AlterIsr )?to \[?(?P<isr>[\d,]*)\]?(?: \([\w-]+\))? ?\s*"
            r"and (?:zkVersion|version) updated to \[?(?P<version>\d+)\]?"
        ),
        _updated,
        (
            ("2.4 to 2.6", "[Partition orders-0 broker=1] ISR updated to [1,2] and zkVersion updated to [5]"),
            (
                "lab, 2.7.1",
                "[Partition orders-0 broker=3] ISR updated from AlterIsr to 3,1,2 and version updated to [8]",
            ),
            (
                "constants of Partition in 3.9.2",
                "[Partition orders-0 broker=1] ISR updated to 1 (under-min-isr) and version updated to 6",
            ),
        ),
    ),
    Wording(
        "isr not taken",
        _BY,
        re.compile(_AT + r"Cached zkVersion \d+ not equal to that in zookeeper, skip updating ISR"),
        _skipped,
        (
            (
                "constants of Partition in 2.7.1",
                "[Partition orders-0 broker=1] Cached zkVersion 4 not equal to that in zookeeper, skip updating ISR",
            ),
        ),
    ),
)


# Log truncations (`Log`, `UnifiedLog`, `ReplicaFetcherThread`). "has no effect" messages are ignored.


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


TRUNCATIONS = (
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
