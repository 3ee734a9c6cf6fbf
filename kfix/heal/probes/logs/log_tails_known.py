"""Every live replica reports its log end offset and the leader epoch of its last record.

Without the epochs it is unknown which log holds more: a longer log of an older epoch may end with records of its own
(docs/facts/data-loss.md). An empty log has no last record and needs no epoch.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import LogTail, PartitionReading
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import partition_probe
from kfix.heal.probes.words import gaps

_WANTED = "log end and last epoch of every live replica"


def _rule(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    if reading.assignment is None or reading.registered is None:
        return judge(None, gaps(reading, "assignment or registrations unknown"), _WANTED)
    live = tuple(b for b in reading.assignment.replicas if b in reading.registered)
    if not live:
        return judge(False, "no assigned replica is registered", _WANTED)
    tails = reader.log_tails(args.tp(), live)
    known = all(b in tails and _known(tails[b]) for b in live)
    shown = "; ".join(f"broker {b}: {_words(tails.get(b))}" for b in live)
    return judge(True if known else None, shown, _WANTED)


def _known(tail: LogTail) -> bool:
    return not tail.error and (tail.epoch >= 0 or tail.end <= tail.start)


def _words(tail: LogTail | None) -> str:
    if tail is None or tail.error:
        return "no answer" if tail is None else tail.error
    return f"end {tail.end}, " + ("empty" if tail.end <= tail.start else f"last epoch {_epoch(tail)}")


def _epoch(tail: LogTail) -> str:
    return "unknown" if tail.epoch < 0 else str(tail.epoch)


PROBE = partition_probe(
    "log_tails_known", "every live replica reports its log end and the epoch of its last record", _rule
)
