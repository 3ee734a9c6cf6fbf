"""Reads the whole log of an offsets partition as a coordinator loads it, and searches a replica's log for one key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kfix.core.collect.logs import ask_log_ends
from kfix.core.collect.offsets_saving import saved
from kfix.core.deadline import Deadline
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.batches import Batch, batches_in
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.load_replay import LoadReplay, count_key
from kfix.core.kafka.records import UnreadBatchError, records, require_readable
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import SavedSource
from kfix.core.snapshot.snapshot import TopicPartition

_PIECE = 1 << 20
#: Most bytes of one log that are read. Without a working compaction a log is larger, and then nothing heals it.
_MOST_BYTES = 256 << 20


def replay_partition(line: BrokerConnection, tp: TopicPartition, timeout: float) -> OffsetsReplay:
    """Returns the partition from its leader. Raises UnreachableError if the leader does not answer."""
    found = LoadReplay()
    log = ask_log_ends(line, (tp,), Deadline.after(timeout))[tp]
    if log.error:
        raise UnreachableError(f"{tp}: its log cannot be read: {log.error}")

    def add(batch: Batch, raw: bytes) -> None:
        found.add(batch, records(batch, raw))

    error = _walk(line, tp, log.start, log.end, add, timeout)
    missing = (error,) if error else ()
    source = SavedSource(tp.partition, "leader", str(line.endpoint), log.start, log.end, log.end, missing)
    read = saved(source, found.groups)
    conflicts = tuple(sorted(found.conflicts.values(), key=lambda each: each.offset))
    return OffsetsReplay(tp, conflicts, read.groups, found.unknown, missing, read.source.pending)


def find_key(line: BrokerConnection, tp: TopicPartition, key: bytes, first: int, until: int, timeout: float) -> KeyLeft:
    """Returns the records with this key from offset `first` on; unknown unless the replica serves all before `until`.

    Any replica serves records below its high watermark.
    """
    found = KeyLeft()

    def add(batch: Batch, raw: bytes) -> None:
        nonlocal found
        if not batch.control:
            found = count_key(found, key, records(batch, raw))

    log = ask_log_ends(line, (tp,), Deadline.after(timeout))[tp]
    error = log.error or _walk(line, tp, max(first, log.start), until, add, timeout)
    return replace(found, error=error) if error else found


def _walk(
    line: BrokerConnection,
    tp: TopicPartition,
    first: int,
    until: int,
    add: Callable[[Batch, bytes], None],
    timeout: float,
) -> str:
    """Passes each batch from `first` on to `add`. Returns why it ended before the offset `until`, or ""."""
    at, left = first, _MOST_BYTES
    while at < until:
        if left <= 0:
            return f"{tp}: more than {_MOST_BYTES >> 20} MB: not read from offset {at} on"
        piece = line.call(requests.fetch(tp, at, _PIECE), Deadline.after(timeout))
        if piece.error:
            return f"{tp}: offset {at}: {name_of(piece.error)}"
        before = at
        for batch, raw in batches_in(piece.batches):
            try:
                require_readable(batch)
                add(batch, raw)
            except (UnreadBatchError, ProtocolError) as problem:
                return f"{tp}: the batch of offsets {batch.base} to {batch.last}: {problem}"
            at = max(at, batch.last + 1)
        left -= len(piece.batches)
        if at == before:
            # A compacted log may end before `until`; only the high watermark shows that nothing is left.
            return "" if piece.high_watermark >= until else f"{tp}: offset {at} is not served yet"
    return ""
