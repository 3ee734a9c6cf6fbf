"""Reads the whole log of an offsets partition as a coordinator loads it, and searches a replica's log for one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from kfix.core.collect.logs import ask_log_ends
from kfix.core.collect.offsets_saving import saved
from kfix.core.collect.pieces import read_pieces
from kfix.core.errors import UnreachableError
from kfix.core.kafka.batches import Batch
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_records import LoadReplay, count_key
from kfix.core.kafka.records import Record
from kfix.core.snapshot.load_conflicts import KeyLeft, OffsetsReplay
from kfix.core.snapshot.offsets import SavedSource
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

#: Most bytes of one log that are read. Without a working compaction a log is larger, and then nothing heals it.
_MOST_BYTES = 256 << 20


def replay_partition(line: BrokerConnection, tp: TopicPartition, timeout: float) -> OffsetsReplay:
    """Returns the partition from its leader. Raises UnreachableError if the leader does not answer."""
    found = LoadReplay()
    log = ask_log_ends(line, (tp,), Deadline.after(timeout))[tp]
    if log.error:
        raise UnreachableError(f"{tp}: its log cannot be read: {log.error}")

    error = _walk(line, tp, log.start, log.end, found.add, timeout)
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

    def add(batch: Batch, rows: Iterable[Record]) -> None:
        nonlocal found
        if not batch.control:
            found = count_key(found, key, rows)

    log = ask_log_ends(line, (tp,), Deadline.after(timeout))[tp]
    error = log.error or _walk(line, tp, max(first, log.start), until, add, timeout)
    return replace(found, error=error) if error else found


def _walk(
    line: BrokerConnection,
    tp: TopicPartition,
    first: int,
    until: int,
    add: Callable[[Batch, Iterable[Record]], None],
    timeout: float,
) -> str:
    """Passes each batch from `first` on to `add`. Returns why it ended before the offset `until`, or ""."""
    at = first
    for piece in read_pieces(line, tp, at, until, add, lambda: Deadline.after(timeout), _MOST_BYTES):
        at = piece.end
        if piece.refused:
            return f"{tp}: offset {at}: {piece.refused}"
        if piece.unread:
            return f"{tp}: {piece.error}"
        if at == piece.first:
            # A compacted log may end before `until`; only the high watermark shows that nothing is left.
            return "" if piece.high_watermark >= until else f"{tp}: offset {at} is not served yet"
    return f"{tp}: more than {_MOST_BYTES >> 20} MB: not read from offset {at} on" if at < until else ""
