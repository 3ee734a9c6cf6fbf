"""Logs that were cut (`Log`, `UnifiedLog`, `ReplicaFetcherThread`). "has no effect" cut nothing and is not told."""

from __future__ import annotations

import re

from kfix.adapters.brokerlog.lines import Entry
from kfix.adapters.brokerlog.wording import Wording, partition
from kfix.model.timeline import Cut, Event, Theme, Told, Tone

_BROKER = re.compile(r"broker-(\d+)")


def _cut(said: re.Match[str], line: Entry, source: str) -> Told:
    """The log names its directory, not its broker; the lab's directories, and the lab's logs, end with the id."""
    tp, offset = partition(said["tp"]), int(said["offset"])
    named = _BROKER.search(said["dir"]) or _BROKER.search(source)
    broker = int(named[1]) if named else -1
    who = f"broker {broker}" if broker >= 0 else "this broker"
    text = f"{who} cut its log back to offset {offset}"
    event = Event(line.at, Theme.LOSS, Tone.BAD, text, source, None, tp, broker if broker >= 0 else None)
    return Told((event,), cut=Cut(line.at, tp, broker, offset))


def _below(said: re.Match[str], line: Entry, source: str) -> Told:
    tp, broker = partition(said["tp"]), int(said["broker"])
    text = (
        f"broker {broker} was made to cut its log back to {said['offset']}, below its high watermark "
        f"{said['high']}: records that were in every ISR's log are gone"
    )
    return Told((Event(line.at, Theme.LOSS, Tone.BAD, text, source, None, tp, broker),))


WORDINGS = (
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
                "constants of UnifiedLog in 3.9.2",
                "[UnifiedLog partition=ledger-0, dir=/data/broker-1] Truncating to offset 24",
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
