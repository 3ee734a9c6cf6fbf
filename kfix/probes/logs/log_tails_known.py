"""Every live replica tells where its log ends and of which leader epoch its last record is.

Without the epochs nobody knows which log holds more: a longer one of an older epoch has a tail of its own (kafka-facts
F). An empty log has no last record and needs none.
"""

from __future__ import annotations

from kfix.model.cluster.reading import LogTail
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

_WANTED = "log end and last epoch of every live replica"


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.recorded(args.tp())
    if reading.assignment is None or reading.registered is None:
        return judge(None, "; ".join(reading.errors) or "assignment or registrations unknown", _WANTED)
    live = tuple(b for b in reading.assignment.replicas if b in reading.registered)
    if not live:
        return judge(False, "no assigned replica is registered", _WANTED)
    tails = reader.log_tails(args.tp(), live)
    known = all(b in tails and _known(tails[b]) for b in live)
    said = "; ".join(f"broker {b}: {_words(tails.get(b))}" for b in live)
    return judge(True if known else None, said, _WANTED)


def _known(tail: LogTail) -> bool:
    return not tail.error and (tail.epoch >= 0 or tail.end <= tail.start)


def _words(tail: LogTail | None) -> str:
    if tail is None or tail.error:
        return "no answer" if tail is None else tail.error
    return f"end {tail.end}, " + ("empty" if tail.end <= tail.start else f"last epoch {_epoch(tail)}")


def _epoch(tail: LogTail) -> str:
    return "unknown" if tail.epoch < 0 else str(tail.epoch)


PROBE = Probe(
    name="log_tails_known",
    summary="every live replica tells its log end and the epoch of its last record",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
