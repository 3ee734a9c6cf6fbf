"""Transactional producers, one in each partition of the transactions topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.adapters.kafka import requests, responses
from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.requests import Request
from kfix.errors import UnreachableError
from kfix.lab.clients.asking import INIT_PRODUCER_ID, ask
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE

if TYPE_CHECKING:
    from kfix.lab.clients.access import LabClient

_OF_TRANSACTIONS = 1
_TIMEOUT_MS = 60_000
_ANSWER_SECONDS = 5.0


def find_coordinator(transactional_id: str) -> Request:
    return Request(requests.FIND_COORDINATOR, 1, Writer().string(transactional_id).i8(_OF_TRANSACTIONS).done())


def init_producer_id(transactional_id: str) -> Request:
    return Request(INIT_PRODUCER_ID, 1, Writer().string(transactional_id).i32(_TIMEOUT_MS).done())


def producer_error(r: ByteReader) -> int:
    r.i32()
    return r.i16()


@dataclass(frozen=True)
class Transactions:
    """`by_partition` is {partition of the transactions topic: a transactional id that hashes to it}."""

    access: LabClient
    by_partition: dict[int, str]

    def coordinator(self, partition: int, via: int) -> tuple[int, int]:
        """Returns error code and coordinator as broker `via` reports them; no answer counts as not available."""
        request = find_coordinator(self.by_partition[partition])
        try:
            found = ask(self.access.addresses()[via], request, responses.find_coordinator, _ANSWER_SECONDS)
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
            return ask(self.access.addresses()[broker], request, producer_error, _ANSWER_SECONDS) == 0
        except (UnreachableError, KeyError):
            return False
