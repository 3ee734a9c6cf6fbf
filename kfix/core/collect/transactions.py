"""Names the holder of a last stable offset: the batch there has a producer id, the log of `__transaction_state` its
transactional.id.

A producer id does not show which partition of `__transaction_state` has its state, so kfix searches all of them from
the time of the transaction on; few have a record that is so new. Brokers before 3.0 have no request for this (KIP-664).
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from kfix.core.collect.pieces import read_pieces
from kfix.core.collect.tasks import Brokers, by_broker, by_partition
from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.derive.hanging import hanging
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.batches import Batch, batches_in
from kfix.core.kafka.codes import TOPIC, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.records import Record
from kfix.core.kafka.requests import PartitionOffset
from kfix.core.kafka.transactions import (
    DESCRIBE_PRODUCERS,
    NEWER_MARKERS,
    WRITE_TXN_MARKERS,
    DescribedProducers,
    describe_producers,
    transaction_state,
)
from kfix.core.snapshot.group_reading import GroupReading
from kfix.core.snapshot.snapshot import OffsetsLog, PartitionView, TopicPartition
from kfix.core.snapshot.transactions import WITHOUT_LEADER, OpenBatch, TransactionLog, TransactionState
from kfix.core.timing import Deadline
from kfix.core.wording import several, some

#: Most partitions of a group, or of a leader, whose batch at the last stable offset is read.
MOST_HELD = 20
#: Most bytes of a batch; a broker returns one whole batch even if it is larger.
_BATCH_BYTES = 4096
#: The clocks of a producer and of a coordinator may differ by this much, in milliseconds.
_CLOCKS_APART_MS = 2 * 60 * 1000
#: transaction.max.timeout.ms, by default.
_LONGEST_MS = 15 * 60 * 1000
_PIECE = 1 << 18
#: Most bytes of one partition of `__transaction_state` that are read.
_MOST_BYTES = 4 << 20
_SHOWN = 3
#: The error of a batch that the client may not read.
REFUSED = f"Fetch: {name_of(TOPIC)}"
#: Seconds that an ordinary transaction lasts at most.
_NEW_SECONDS = 5.0


def ask_open_batches(
    line: BrokerConnection, stable: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, OpenBatch]:
    """Returns the batch at these last stable offsets, each below the high watermark, from their leader."""
    fetches = [requests.fetch(tp, offset, _BATCH_BYTES) for tp, offset in stable.items()]
    answers = line.call_many(fetches, deadline)
    return {tp: _open_batch(stable[tp], answer) for tp, answer in zip(stable, answers, strict=True)}


def ask_only_markers(
    line: BrokerConnection, asked: Mapping[TopicPartition, tuple[int, int]], deadline: Deadline
) -> set[TopicPartition]:
    """Returns the partitions in which nothing but markers is between two offsets, the second one excluded."""
    fetches = [requests.fetch(tp, begin, _BATCH_BYTES) for tp, (begin, _) in asked.items()]
    answers = line.call_many(fetches, deadline)
    return {tp for (tp, bounds), answer in zip(asked.items(), answers, strict=True) if _only_markers(answer, *bounds)}


def _only_markers(answer: requests.FetchedRecords, begin: int, end: int) -> bool:
    found = [batch for batch, _ in batches_in(answer.batches) if batch.last >= begin and batch.base < end]
    return bool(found) and found[-1].last >= end - 1 and all(batch.control for batch in found)


def newest_leaders(
    views: Iterable[Mapping[TopicPartition, PartitionView]],
) -> dict[TopicPartition, PartitionView]:
    """Returns {partition: the metadata with the highest leader epoch}, without partitions that have no leader there."""
    found: dict[TopicPartition, PartitionView] = {}
    for view in views:
        for tp, each in view.items():
            if tp not in found or found[tp].leader_epoch < each.leader_epoch:
                found[tp] = each
    return {tp: each for tp, each in found.items() if each.leader >= 0}


def ask_held(
    line: BrokerConnection, tps: Iterable[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, OpenBatch]:
    """Returns the batches at the last stable offsets of these partitions of one leader, if they are not new.

    A batch that may not be read has the error `REFUSED`. It reads the `MOST_HELD` oldest by the time of the producer's
    last record, which brokers before 3.0 do not report.
    """
    high, stable = line.call_many(requests.high_and_stable(tuple(tps)), deadline)
    behind = {
        tp: each.offset
        for tp, each in stable.items()
        if tp in high and not each.error and not high[tp].error and each.offset < high[tp].offset
    }
    if behind and line.supports(DESCRIBE_PRODUCERS, 0, deadline):
        producers = line.call(describe_producers(behind), deadline)
        last = {tp: _last_ms(offset, producers.get(tp)) for tp, offset in behind.items()}
        behind = {tp: behind[tp] for tp in sorted(behind, key=last.__getitem__) if not _is_new(last[tp])}
    chosen = dict(list(behind.items())[:MOST_HELD])
    found = ask_open_batches(line, chosen, deadline) if chosen else {}
    return {tp: each for tp, each in found.items() if each.error in {"", REFUSED} and not _is_new(each.since_ms)}


def _last_ms(offset: int, described: DescribedProducers | None) -> int:
    """Returns the time of the last record of the producer whose transaction begins at this offset, -1 if unknown."""
    found = () if described is None else described.producers
    return next((each.last_ms for each in found if each.start == offset), -1)


def _is_new(at_ms: int) -> bool:
    """Returns whether an ordinary transaction may have begun then; a producer may set a time in the future."""
    return 0 <= time.time() - at_ms / 1000 <= _NEW_SECONDS


def still_held(
    brokers: Brokers,
    leaders: Mapping[TopicPartition, PartitionView],
    held: Mapping[TopicPartition, OpenBatch],
    log: TransactionLog,
) -> TransactionLog:
    """Returns the log with those batches that no coordinator has open, and that are still there after it was read."""
    read = {tp: batch for tp, batch in held.items() if tp in leaders and not batch.error}
    suspects = {tp: batch for tp, batch in read.items() if hanging(tp, batch, log) is not None}
    led = by_broker((leaders[tp].leader, tp) for tp in suspects)
    answers = by_partition(brokers.aside().each("broker", led, ask_held).found)
    return replace(log, held={tp: batch for tp, batch in suspects.items() if batch in answers.get(tp, {}).values()})


def why_unjudged(held: Mapping[TopicPartition, OpenBatch], log: TransactionLog) -> str:
    """Returns why it is unknown whether the transactions of some of these batches hang, "" if it is known of all."""
    named = {record.producer for record in log.records}
    refused = [str(tp) for tp, batch in sorted(held.items()) if batch.error]
    if refused:
        return f"it is unknown whose transactions are open in {some(refused, _SHOWN)}: {REFUSED}"
    unknown = [str(tp) for tp, batch in sorted(held.items()) if log.unread and batch.producer not in named]
    why = log.error or f"the log of {TRANSACTIONS_TOPIC} was not read to its end"
    return f"it is unknown whether the transactions open in {some(unknown, _SHOWN)} hang: {why}" if unknown else ""


def _open_batch(offset: int, answer: requests.FetchedRecords) -> OpenBatch:
    if answer.error:
        return OpenBatch(offset, -1, -1, -1, f"Fetch: {name_of(answer.error)}")
    found = next((batch for batch, _ in batches_in(answer.batches) if batch.last >= offset), None)
    if found is None:
        return OpenBatch(offset, -1, -1, -1, "Fetch returned no whole batch")
    if not found.transactional or found.control:
        return OpenBatch(offset, -1, -1, -1, "the batch there does not belong to a transaction: it may just have ended")
    return OpenBatch(offset, found.producer, found.producer_epoch, found.first_ms)


def open_producers(
    logs: Iterable[OffsetsLog],
    readings: Iterable[GroupReading],
    now: float,
    held: Iterable[OpenBatch] = (),
) -> dict[int, int]:
    """Returns {producer id of an open transaction: time of its first record, in milliseconds}.

    The producer sets that time. A time after `now` (seconds) shows nothing; the result is then the start of the oldest
    transaction that brokers allow by default.
    """
    found: dict[int, int] = {}
    seen = [(each.producer, each.since_ms) for log in logs for each in log.transactions]
    batches = (*held, *(each for reading in readings for each in reading.held.values()))
    seen += [(each.producer, each.since_ms) for each in batches if not each.error]
    for producer, since_ms in seen:
        began = since_ms if since_ms <= now * 1000 else int(now * 1000) - _LONGEST_MS
        found[producer] = min(found.get(producer, began), began)
    return found


@dataclass(slots=True)
class _Search:
    """The states in the log of one partition; `error` is why its end was not reached.

    `records` are all records of the producers that are searched for. `epochs` are the leader epochs of the batches, and
    `gap` is whether offsets are missing: then compaction has removed records.
    """

    found: dict[str, TransactionState] = field(default_factory=dict)
    error: str = ""
    records: list[TransactionState] = field(default_factory=list)
    epochs: set[int] = field(default_factory=set)
    gap: bool = False


def read_since(
    line: BrokerConnection,
    tps: Iterable[TopicPartition],
    since_ms: int,
    deadline: Deadline,
    producers: Collection[int] = (),
) -> dict[TopicPartition, _Search]:
    """Returns the last state of every transactional.id that has a record since this time, at the leader of `tps`.

    Of these producers, it returns all records since then.
    """
    partitions = tuple(tps)
    begins, ends = line.call_many(
        [
            requests.list_offsets(partitions, max(0, since_ms - _CLOCKS_APART_MS), replica=requests.CONSUMER),
            requests.list_offsets(partitions, requests.LATEST, replica=requests.CONSUMER),
        ],
        deadline,
    )
    return {tp: _search(line, tp, begins.get(tp), ends.get(tp), deadline, producers) for tp in partitions}


def _search(
    line: BrokerConnection,
    tp: TopicPartition,
    begin: PartitionOffset | None,
    end: PartitionOffset | None,
    deadline: Deadline,
    producers: Collection[int],
) -> _Search:
    search = _Search()
    if begin is None or end is None or begin.error or end.error:
        bad = next((each.error for each in (begin, end) if each is not None and each.error), 0)
        search.error = name_of(bad) if bad else "an empty response"
        return search

    at = following = begin.offset if begin.offset >= 0 else end.offset

    def add(batch: Batch, rows: Iterable[Record]) -> None:
        nonlocal following
        search.gap |= batch.base > following or batch.records != batch.last - batch.base + 1
        search.epochs.add(batch.epoch)
        following = batch.last + 1
        for name, state in filter(None, map(transaction_state, () if batch.control else rows)):
            search.found.pop(name, None)
            if state is not None:
                search.found[name] = state
                search.records += [state] if state.producer in producers else []

    for piece in read_pieces(line, tp, at, end.offset, add, lambda: deadline, _MOST_BYTES, _PIECE):
        at = piece.end
        search.error = piece.error or (f"no whole batch at offset {at}" if piece.first == at else "")
        if search.error or deadline.left <= 0:
            break
    if at < end.offset and not search.error:
        search.error = f"{several(end.offset - at, 'record')} left unread"
    return search


def name_producers(
    brokers: Brokers, leaders: Mapping[TopicPartition, PartitionView], count: int, producers: Mapping[int, int]
) -> TransactionLog:
    """Returns the states of these producers, {producer id: time of its transaction}, from the `count` partitions."""
    every = [TopicPartition(TRANSACTIONS_TOPIC, number) for number in range(count)]
    if not every:
        return TransactionLog(error=f"{TRANSACTIONS_TOPIC} does not exist, or its metadata was not read")
    led = by_broker((leaders[tp].leader, tp) for tp in every if tp in leaders)
    since = min(producers.values())
    answers = brokers.aside().each(
        "broker", led, lambda line, tps, deadline: read_since(line, tps, since, deadline, producers)
    )
    unread = {tp: WITHOUT_LEADER for tp in every if tp not in leaders}
    for broker in led.keys() - answers.found.keys():
        why = answers.errors.get(broker, f"its leader {broker} does not respond")
        unread |= dict.fromkeys(led[broker], why)
    searches = {tp: search for found in answers.found.values() for tp, search in found.items()}
    unread |= {tp: search.error for tp, search in searches.items() if search.error}
    states = (state for search in searches.values() for state in search.found.values())
    found = tuple(sorted(state for state in states if state.producer in producers))
    read = {tp: search for tp, search in sorted(searches.items()) if not search.error}
    return TransactionLog(
        found,
        "" if producers.keys() <= {s.producer for s in found} else _why(unread, count),
        records=tuple(state for search in read.values() for state in search.records),
        whole=frozenset(
            state.producer
            for tp, search in read.items()
            for state in search.records
            if not search.gap and search.epochs == {leaders[tp].leader_epoch}
        ),
        unread=bool(unread),
    )


def read_transactions(
    brokers: Brokers, leaders: Mapping[TopicPartition, PartitionView], count: int, producers: Mapping[int, int]
) -> TransactionLog:
    """As `name_producers`, and searches the whole log for those of which it has found no record.

    A producer sets the times of its records, so its transaction may have begun earlier than they show.
    """
    log = name_producers(brokers, leaders, count, producers)
    missing = producers.keys() - {record.producer for record in log.records}
    if log.unread or not missing:
        return log
    whole = name_producers(brokers, leaders, count, dict.fromkeys(missing, 0))
    return replace(log, records=(*log.records, *whole.records), whole=log.whole | whole.whole, unread=whole.unread)


def _why(unread: Mapping[TopicPartition, str], count: int) -> str:
    if not unread:
        return f"no record of {TRANSACTIONS_TOPIC} since the transaction began has this producer id"
    reasons = tuple(dict.fromkeys(unread[tp] for tp in sorted(unread)))
    return f"{several(len(unread), 'partition')} of {count} of {TRANSACTIONS_TOPIC} not read: {some(reasons, _SHOWN)}"


def ask_transaction(
    line: BrokerConnection, tp: TopicPartition, transactional_id: str, since_ms: int, deadline: Deadline
) -> TransactionState | None:
    """Returns the last state since this time. Raises UnreachableError if the log was not read to its end."""
    search = read_since(line, (tp,), since_ms, deadline)[tp]
    if search.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: {search.error}")
    return search.found.get(transactional_id)


def ask_served(line: BrokerConnection, tp: TopicPartition, offset: int, deadline: Deadline) -> int:
    """Returns the offset after the last batch that a consumer with read_committed gets in one fetch from here."""
    answer = line.call(requests.fetch(tp, offset, _BATCH_BYTES, isolation=1), deadline)
    if answer.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: Fetch: {name_of(answer.error)}")
    return max((batch.last + 1 for batch, _ in batches_in(answer.batches)), default=offset)


def ask_marker(
    line: BrokerConnection, tp: TopicPartition, batch: OpenBatch, deadline: Deadline
) -> tuple[bool, int | None]:
    """Returns whether the leader has the newer WriteTxnMarkers, and the epoch of the producer's last marker.

    The epoch is -1 without such a marker, and None if the leader cannot describe producers (before Kafka 3.0).
    """
    newer = line.supports(WRITE_TXN_MARKERS, NEWER_MARKERS, deadline)
    if not line.supports(DESCRIBE_PRODUCERS, 0, deadline):
        return newer, None
    found = line.call(describe_producers((tp,)), deadline).get(tp)
    if found is None or found.error:
        why = "an empty response" if found is None else name_of(found.error)
        raise UnreachableError(f"{line.endpoint}: {tp}: DescribeProducers: {why}")
    return newer, next((each.coordinator_epoch for each in found.producers if each.producer == batch.producer), -1)


def ask_open_batch(line: BrokerConnection, tp: TopicPartition, deadline: Deadline) -> OpenBatch | None:
    """Returns the batch at the last stable offset; None if no transaction is open. Raises UnreachableError."""
    high, stable = (answer.get(tp) for answer in line.call_many(requests.high_and_stable((tp,)), deadline))
    if high is None or stable is None or high.error or stable.error:
        bad = next((each.error for each in (high, stable) if each is not None and each.error), 0)
        raise UnreachableError(f"{line.endpoint}: {tp}: {name_of(bad) if bad else 'an empty response'}")
    if stable.offset >= high.offset:
        return None
    found = ask_open_batches(line, {tp: stable.offset}, deadline)[tp]
    if found.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: {found.error}")
    return found
