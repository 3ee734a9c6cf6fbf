"""Reads the sizes of the replicas of the offsets partitions, and a piece of each log that should be compacted.

The log start offset stays 0 whether a log is compacted or not. Repeated keys show it, since compaction leaves one
record of each key (docs/adr/021-an-uncompacted-log-by-repeated-keys.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from kfix.core.collect.offsets_log import Places
from kfix.core.collect.pieces import read_pieces
from kfix.core.collect.tasks import Brokers, by_broker
from kfix.core.derive.coordinator import SAMPLED_SHARE, should_be_compacted
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.batches import Batch
from kfix.core.kafka.codes import CLUSTER, name_of, with_right
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.records import Record
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

#: Most logs per broker of which a piece is read, largest first.
MOST_SAMPLED = 10
#: A piece is a small part of the log. A Fetch ends at the end of a segment, so a piece may take several.
_PIECE_BYTES, _PARTS, _PIECES, _ENOUGH = 1 << 19, 16, 3, 1_000
_TAIL_RECORDS = 2_000


@dataclass(frozen=True, slots=True)
class _Asked:
    """The requests to one broker: the offsets partitions that it hosts, and those of them that it leads."""

    broker: int
    tps: tuple[TopicPartition, ...]
    led: tuple[TopicPartition, ...]
    segment_bytes: int
    principal: str


def read_sizes(brokers: Brokers, places: Places, segment_bytes: int, principal: str) -> tuple[OffsetsLogSize, ...]:
    """Returns the sizes; if a broker refuses or fails, rows with the error for the partitions that it leads.

    The error names the right that `principal` lacks.
    """
    hosted = by_broker((b, tp) for tp, (_, replicas) in places.items() for b in replicas)
    asked = {
        b: _Asked(b, tps, tuple(tp for tp in tps if places[tp][0] == b), segment_bytes, principal)
        for b, tps in hosted.items()
    }
    # Only the checks of latent risks need the answers, so no source of the cluster has failed.
    answers = brokers.aside().each("broker", asked, _read)
    failed = [row for b, error in answers.errors.items() for row in _unknown(asked[b], error or "no answer")]
    return tuple(sorted([*failed, *(row for rows in answers.found.values() for row in rows)]))


def _unknown(asked: _Asked, error: str) -> list[OffsetsLogSize]:
    return [OffsetsLogSize(tp.partition, asked.broker, -1, error=error) for tp in asked.led]


def _read(line: BrokerConnection, asked: _Asked, deadline: Deadline) -> list[OffsetsLogSize]:
    broker, tps, segment = asked.broker, asked.tps, asked.segment_bytes
    _, dirs = line.call(requests.describe_log_dirs(with_room=False, tps=tps), deadline)
    if not dirs:  # Version 1 has no error field.
        return _unknown(asked, with_right(name_of(CLUSTER), requests.DESCRIBE_LOG_DIRS, asked.principal))
    hosted = frozenset(tps)
    sizes = {tp: size for each in dirs if not each.error for tp, size in each.sizes.items() if tp in hosted}
    large = [tp for tp in asked.led if should_be_compacted(sizes.get(tp, 0), segment)]
    sampled = sorted(large, key=lambda tp: -sizes[tp])[:MOST_SAMPLED]
    found = {tp: OffsetsLogSize(tp.partition, broker, size) for tp, size in sizes.items()}
    found |= {
        tp: OffsetsLogSize(tp.partition, broker, -1, error="no size of its log") for tp in asked.led if tp not in sizes
    }
    if not sampled:
        return list(found.values())
    starts, ends = line.call_many(
        [requests.list_offsets(tuple(sampled), when) for when in (requests.EARLIEST, requests.LATEST)],
        deadline,
    )
    for tp in sampled:
        try:
            start, end = (_offset(each.get(tp), asked.principal) for each in (starts, ends))
            found[tp] = _sampled(_Log(line, tp, start, end, asked.principal), found[tp], deadline)
        except UnreachableError as error:
            found[tp] = found[tp]._replace(error=str(error))
    if all(found[tp].error for tp in sampled):
        # A refusal or failure for the largest log holds for the others.
        found |= {tp: found[tp]._replace(error=found[sampled[0]].error) for tp in large}
    return list(found.values())


def _offset(answer: requests.PartitionOffset | None, principal: str) -> int:
    if answer is None or answer.error:
        why = "no offset" if answer is None else name_of(answer.error)
        raise UnreachableError(with_right(why, requests.LIST_OFFSETS, principal))
    return answer.offset


@dataclass(frozen=True, slots=True)
class _Log:
    """The log of a partition at its leader, with its first offset and the offset after its last one."""

    line: BrokerConnection
    tp: TopicPartition
    start: int
    end: int
    principal: str


def _sampled(log: _Log, size: OffsetsLogSize, deadline: Deadline) -> OffsetsLogSize:
    """Reads a piece of the log that the cleaner of a healthy broker has compacted. Raises UnreachableError.

    After its first part, a log that is not compacted is dense: as many records as offsets. So the size of a record at
    the end of the log gives the offset after which SAMPLED_SHARE of the bytes are, if all are dense.
    """
    most = min(_PIECE_BYTES, size.size // _PARTS)
    tail = _piece(log, max(log.start, log.end - _TAIL_RECORDS), most, deadline)
    if tail is None:
        return size
    at = max(log.start, log.end - int(SAMPLED_SHARE * size.size / tail.record_bytes))
    found = _piece(log, at, most, deadline)
    if found is None:
        return size
    behind = int((log.end - found.first) * found.record_bytes)
    return size._replace(records=found.records, keys=len(found.keys), last_ms=found.last_ms, behind=behind)


@dataclass(frozen=True, slots=True)
class _Piece:
    first: int
    records: int
    keys: frozenset[bytes | None]
    last_ms: int
    record_bytes: float


def _piece(log: _Log, at: int, most: int, deadline: Deadline) -> _Piece | None:
    """Returns records from this offset on, across the end of a segment; None if there are none.

    Raises UnreachableError if they cannot be read, with the missing right if the broker refuses them.
    """
    first, count, keys, last_ms, size = -1, 0, set[bytes | None](), -1, 0

    def add(batch: Batch, found: Iterable[Record]) -> None:
        nonlocal first, count, last_ms, size
        if batch.control:
            return
        rows = list(found)
        first, last_ms = batch.base if first < 0 else first, batch.last_ms
        count, size = count + len(rows), size + batch.size
        keys.update(row.key for row in rows)

    for piece in islice(read_pieces(log.line, log.tp, at, log.end, add, lambda: deadline, at_once=most), _PIECES):
        if piece.error:
            raise UnreachableError(with_right(piece.error, requests.FETCH, log.principal))
        if count >= _ENOUGH:
            break
    return _Piece(first, count, frozenset(keys), last_ms, size / count) if count else None
