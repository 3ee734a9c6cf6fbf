"""Reads exactly one record of a partition at its leader."""

from __future__ import annotations

from typing import Final

from kfix.core.collect.logs import ask_bounds, ask_log_ends
from kfix.core.collect.transactions import ask_only_markers
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.batches import batches_in
from kfix.core.kafka.codec import ProtocolError
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.records import UnreadBatchError, crc_is_right, require_readable, whole_record
from kfix.core.snapshot.offsets import LoggedRecord
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline

#: Bit 3 of the attributes of a batch: the broker set the time of its records.
_APPENDED: Final = 0x08
#: The broker returns one whole batch, even if it is larger.
_ONE_BATCH: Final = 1


def ask_record(line: BrokerConnection, tp: TopicPartition, offset: int, deadline: Deadline) -> LoggedRecord:
    """Returns the record at this offset.

    Raises RefusedError where no consumer gets a record, with the reason, or where the record cannot be read;
    UnreachableError if the leader does not answer.
    """
    log = ask_log_ends(line, (tp,), deadline)[tp]
    high, stable = (answer.get(tp) for answer in line.call_many(requests.high_and_stable((tp,)), deadline))
    bad = log.error or next((name_of(each.error) for each in (high, stable) if each is not None and each.error), "")
    if bad or high is None or stable is None:
        raise UnreachableError(f"{line.endpoint}: {tp}: {bad or 'an empty response'}")
    if offset < log.start:
        raise RefusedError(f"{tp}: offset {offset} is below the log start offset {log.start}: the record was deleted")
    if offset >= high.offset:
        raise RefusedError(f"{tp}: there is no record at offset {offset}: the high watermark is {high.offset}")
    if offset >= stable.offset:
        raise RefusedError(
            f"{tp}: offset {offset} is not below the last stable offset {stable.offset}: a transaction is open there",
            hint="kfix diagnose names the transaction; consumers with read_committed wait for it, not for the record",
        )
    answer = line.call(requests.fetch(tp, offset, _ONE_BATCH), deadline)
    if answer.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: Fetch: {name_of(answer.error)}")
    return _found(tp, offset, answer.batches)


def ask_records_left(line: BrokerConnection, tp: TopicPartition, offset: int, deadline: Deadline) -> bool:
    """Returns whether the log has a record at this offset or later, other than the markers of transactions.

    Raises UnreachableError if the leader does not answer.
    """
    end = ask_bounds(line, (tp,), deadline)[1].get(tp)
    if end is None or end.error:
        raise UnreachableError(f"{line.endpoint}: {tp}: {name_of(end.error) if end else 'an empty response'}")
    return offset < end.offset and not ask_only_markers(line, {tp: (offset, end.offset)}, deadline)


def _found(tp: TopicPartition, offset: int, data: bytes) -> LoggedRecord:
    for batch, raw in batches_in(data):
        if batch.last < offset:
            continue
        where = f"{tp}: the batch of offsets {batch.base} to {batch.last}"
        if batch.base > offset:
            break
        if not crc_is_right(batch, data):
            raise RefusedError(f"{where} is damaged: its checksum is wrong, so no consumer can read it")
        if batch.control:
            raise RefusedError(f"{tp}: offset {offset} is the end marker of a transaction: no consumer receives it")
        try:
            require_readable(batch)
            found = whole_record(batch, raw, offset)
        except (UnreadBatchError, ProtocolError) as error:
            raise RefusedError(f"{where} {error}") from None
        if found is None:
            break
        appended = bool(batch.kind & _APPENDED)
        time_ms = batch.last_ms if appended else batch.first_ms + found.time_delta
        return LoggedRecord(tp, offset, batch.epoch, time_ms, appended, found.key, found.value, found.headers)
    raise RefusedError(f"{tp}: there is no record at offset {offset} any more: compaction removed it")
