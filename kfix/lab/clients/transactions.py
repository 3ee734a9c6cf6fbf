"""Transactional producers, one in each partition of the transactions topic."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c

from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC, partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.kafka.api import Request
from kfix.core.kafka.group_messages import INIT_PRODUCER_ID, find_transaction_coordinator
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.timing import Deadline
from kfix.lab.clients.asking import PRODUCE, ask, connected_to
from kfix.lab.clients.commits import COORDINATOR_NOT_AVAILABLE

if TYPE_CHECKING:
    from kfix.core.snapshot.transactions import TransactionState
    from kfix.lab.clients.access import LabClient

_TIMEOUT_MS = 60_000
# The two halves of the header of a batch (kfix.core.kafka.batches): its CRC is about the second one, and the records.
_UNCHECKED, _CHECKED = struct.Struct(">qiibI"), struct.Struct(">hiqqqhii")
_TRANSACTIONAL, _SEQUENCE, _LATE = 0x10, 0, b"late"
_ANSWER_SECONDS = 5.0


def init_producer_id(transactional_id: str) -> Request[int]:
    """Requests a producer id in version 1, which names none that it expects. The response is the error."""
    return INIT_PRODUCER_ID.ask(1, (transactional_id, _TIMEOUT_MS, None, None), int)


def last_state(access: LabClient, transactional_id: str, coordinator: int) -> TransactionState | None:
    """Returns the last state of a transactional id in the log of its coordinator, None without one."""
    from kfix.core.collect.transactions import ask_transaction  # noqa: PLC0415 - brings the readers

    number = partition_of_group(transactional_id, len(access.assignment(TRANSACTIONS_TOPIC)))
    with connected_to(access.addresses()[coordinator]) as line:
        where, deadline = TopicPartition(TRANSACTIONS_TOPIC, number), Deadline.after(_ANSWER_SECONDS)
        return ask_transaction(line, where, transactional_id, 0, deadline)


def write_late(address: str, state: TransactionState, where: TopicPartition) -> int:
    """Sends the leader a record of a transaction that has ended, as a request does that arrives late.

    Returns the error of the leader. `state` is the last one of its producer.
    """
    now = int(time.time() * 1000)
    # The length of the record, and itself: attributes, deltas of time and offset, a null key, the value, no headers.
    record = bytes((2 * (6 + len(_LATE)), 0, 0, 0, 1, 2 * len(_LATE))) + _LATE + b"\0"
    checked = _CHECKED.pack(_TRANSACTIONAL, 0, now, now, state.producer, state.epoch, _SEQUENCE, 1) + record
    batch = _UNCHECKED.pack(0, 9 + len(checked), -1, 2, google_crc32c.value(checked)) + checked
    asked = (state.transactional_id, -1, 5_000, [(where.topic, [(where.partition, batch)])])
    return ask(address, PRODUCE.ask(3, asked, lambda topics: int(topics[0][0][0][0])), _ANSWER_SECONDS)


@dataclass(frozen=True)
class Transactions:
    """`by_partition` is {partition of the transactions topic: a transactional id that hashes to it}."""

    access: LabClient
    by_partition: dict[int, str]

    def coordinator(self, partition: int, via: int) -> tuple[int, int]:
        """Returns error code and coordinator as broker `via` reports them; no answer counts as not available."""
        request = find_transaction_coordinator(self.by_partition[partition])
        try:
            found = ask(self.access.addresses()[via], request, _ANSWER_SECONDS)
        except (UnreachableError, KeyError):
            return COORDINATOR_NOT_AVAILABLE, -1
        return found.error, found.broker

    def works(self, partition: int) -> bool:
        """Returns whether a producer with this transactional id gets a producer id from the coordinator."""
        error, broker = self.coordinator(partition, min(self.access.live_ids(), default=-1))
        if error:
            return False
        request = init_producer_id(self.by_partition[partition])
        try:
            return ask(self.access.addresses()[broker], request, _ANSWER_SECONDS) == 0
        except (UnreachableError, KeyError):
            return False
