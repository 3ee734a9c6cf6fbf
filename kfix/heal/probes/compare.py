"""Whether one replica's log holds all of others' logs: it reaches as far, and its last record is of no older epoch.

The replica with the higher (epoch, end) holds more, and a log that is as long but older ends with records of its own
(docs/facts/data-loss.md). Log ends of a busy partition move between two reads, so the future leader's is read last, and
again: a follower that has reached the offset at which the leader *was* holds all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import LogTail
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.answer import Answer, judge

_REREADS = 5


def holds(reader: ClusterReader, tp: TopicPartition, heir: int, others: Collection[int], wanted: str) -> Answer:
    """Judges whether the log of `heir` holds those of the others; an unread log makes the answer inconclusive."""
    goals = _tails(reader, tp, tuple(sorted(set(others) - {heir})))
    unread = [b for b, tail in goals.items() if tail is None]
    if unread:
        return judge(None, f"the log end of broker {unread[0]} is unknown", wanted)
    known = {b: tail for b, tail in goals.items() if tail is not None and tail.end > tail.start}
    goal = max((tail.end for tail in known.values()), default=0)
    end = _end(reader, tp, heir)
    for _ in range(_REREADS):
        if end is None or end >= goal:
            break
        end = _end(reader, tp, heir)
    if end is None:
        return judge(None, f"the log end of broker {heir} is unknown", wanted)
    if end < goal:
        furthest = next(b for b, tail in known.items() if tail.end == goal)
        return judge(False, f"broker {heir} ends at {end}, broker {furthest} at {goal}", wanted)
    return _of_no_older_epoch(reader, tp, heir, known, wanted)


def _of_no_older_epoch(
    reader: ClusterReader, tp: TopicPartition, heir: int, known: Mapping[int, LogTail], wanted: str
) -> Answer:
    """Where no epoch at all is known, as for records from before Kafka 0.11, the log ends alone decide."""
    own = _tails(reader, tp, (heir,))[heir] if known else None
    if known and own is None:
        return judge(None, f"the last epoch of broker {heir} is unknown", wanted)
    epochs = {b: tail.epoch for b, tail in known.items()} | ({} if own is None else {heir: own.epoch})
    dark = [b for b, epoch in epochs.items() if epoch < 0]
    if dark and len(dark) < len(epochs):
        return judge(None, f"the epoch of the last record of broker {dark[0]} is unknown", wanted)
    newer = [b for b in epochs if epochs[b] > epochs[heir]]
    if newer:
        text = f"the last record of broker {heir} is of epoch {epochs[heir]}, that of broker {newer[0]} of epoch "
        return judge(False, f"{text}{epochs[newer[0]]}: the logs differ", wanted)
    return judge(True, f"broker {heir} holds what {sorted({heir, *known})} hold", wanted)


def _tails(reader: ClusterReader, tp: TopicPartition, brokers: tuple[int, ...]) -> dict[int, LogTail | None]:
    try:
        found = reader.log_tails(tp, brokers) if brokers else {}
    except UnreachableError:
        found = {}
    return {b: None if (tail := found.get(b)) is None or tail.error else tail for b in brokers}


def _end(reader: ClusterReader, tp: TopicPartition, broker: int) -> int | None:
    try:
        found = reader.log_ends(tp, (broker,)).get(broker)
    except UnreachableError:
        return None
    return None if found is None or found.error else found.end
