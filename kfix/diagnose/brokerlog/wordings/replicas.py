"""ISR changes by leaders (`kafka.cluster.Partition`), and truncations of logs (`Log`, `UnifiedLog`, fetchers).

Messages that a truncation "has no effect" are ignored.
"""

import re
from dataclasses import replace

from kfix.core.events import Event, LogStatement, LogTruncation, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, ids, partition, said

_NOT_SAID = -2
_TRUNCATED = said(Theme.LOSS, Tone.BAD, "{who} truncated its log to offset {offset}")


def _wanted(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Returns a request only: a leader without a connection to the controller logs it forever.

    Source: docs/facts/network-partitions.md.
    """
    tp, broker = partition(match["tp"]), int(match["broker"])
    verb, tone = ("shrinks", Tone.BAD) if match["how"] == "Shrinking" else ("expands", Tone.GOOD)
    text = f"leader {broker} {verb} the ISR {_list(ids(match['old']))} \u2192 {_list(ids(match['new']))}"
    return LogStatement((Event(line.at, Theme.ISR, tone, text, source, None, tp, broker),))


def _updated(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Reads what the controller or ZooKeeper accepted."""
    tp, isr, version = partition(match["tp"]), ids(match["isr"]), int(match["version"])
    key = f"isr:{tp}:{','.join(map(str, sorted(isr)))}"
    text = f"ISR is now {_list(isr)}"
    event = Event(line.at, Theme.ISR, Tone.PLAIN, text, source, None, tp, key=key, lasting=False)
    return LogStatement((event,), partitions=((tp, Observation(line.at, line.at, _NOT_SAID, -1, isr, version)),))


def _list(isr: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, isr))}]"


def _cut(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    cut = LogTruncation(line.at, partition(match["tp"]), line.writer, int(match["offset"]))
    return replace(_TRUNCATED(match, line, source), cut=cut)


_AT = r"\[Partition (?P<tp>\S+-\d+) broker=(?P<broker>\d+)\] "
WORDINGS = (
    Wording(
        "isr wanted",
        ("Partition",),
        re.compile(_AT + r"(?P<how>Shrinking|Expanding) ISR from (?P<old>[\d,]*) to (?P<new>[\d,]*)"),
        _wanted,
    ),
    Wording(
        "isr updated",
        ("Partition",),
        re.compile(
            _AT + r"ISR updated (?:from AlterIsr )?to \[?(?P<isr>[\d,]*)\]?(?: \([\w-]+\))? ?\s*"
            r"and (?:zkVersion|version) updated to \[?(?P<version>\d+)\]?"
        ),
        _updated,
    ),
    Wording(
        "isr not taken",
        ("Partition",),
        re.compile(_AT + r"Cached zkVersion \d+ not equal to that in zookeeper, skip updating ISR"),
        said(
            Theme.ISR,
            Tone.BAD,
            "the ISR change of broker {broker} was rejected: ZooKeeper has a newer record than this leader",
        ),
    ),
    Wording(
        "epochs struck out",
        ("LeaderEpochFileCache",),
        re.compile(
            r"\[LeaderEpochCache (?P<tp>\S+-\d+)\] New epoch entry .*? caused truncation of conflicting entries "
            r"(?:ListBuffer|ArrayBuffer|Vector)?\s*(?P<gone>.*?)\s*\. Cache now contains"
        ),
        said(Theme.LOSS, Tone.BAD, "the log of {who} diverged from the leader: epochs {gone} were removed"),
    ),
    Wording(
        "truncated",
        ("Log", "UnifiedLog"),
        re.compile(
            r"\[(?:Unified)?Log partition=(?P<tp>\S+-\d+), dir=(?P<dir>.*?)\] Truncating to offset (?P<offset>\d+)$"
        ),
        _cut,
    ),
    Wording(
        "below high watermark",
        ("ReplicaFetcherThread",),
        re.compile(
            r"\[ReplicaFetcher replicaId=(?P<broker>\d+), .*?\] Truncating (?P<tp>\S+-\d+) to offset (?P<offset>\d+) "
            r"below high watermark (?P<high>\d+)"
        ),
        said(
            Theme.LOSS,
            Tone.BAD,
            "broker {broker} truncated its log to {offset}, below its high watermark {high}: committed records are "
            "gone",
        ),
    ),
)
