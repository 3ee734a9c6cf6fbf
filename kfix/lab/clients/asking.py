"""Requests to one chosen broker, through the protocol code of the adapters, and the changes a lab makes that way."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.requests import ALTER_REASSIGNMENTS, INCREMENTAL_ALTER_CONFIGS, READ_ONLY, Request
from kfix.adapters.kafka.security import Security
from kfix.model.cluster.snapshot import Endpoint, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, INIT_PRODUCER_ID = 8, 11, 14, 22
UPDATE_FEATURES, UNREGISTER_BROKER, CONSUMER_GROUP_HEARTBEAT = 57, 64, 68
_ALLOWED = READ_ONLY | {
    *(OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, INIT_PRODUCER_ID),
    *(ALTER_REASSIGNMENTS, INCREMENTAL_ALTER_CONFIGS, UNREGISTER_BROKER),
    *(CONSUMER_GROUP_HEARTBEAT, UPDATE_FEATURES),
}
_FROM_OUTSIDE = -1  # the generation of a commit from outside the group, and the default retention


def ask(
    address: str, request: Request, decode: Callable[[ByteReader], T], seconds: float, security: Security | None = None
) -> T:
    """Sends a request over a connection of its own. Raises UnreachableError if there is no answer in time."""
    with connected_to(address, security) as line:
        return line.call(request, decode, Deadline.after(seconds))


def connected_to(address: str, security: Security | None = None) -> BrokerConnection:
    """Returns a connection to a broker that opens with its first request; close it."""
    host, _, port = address.rpartition(":")
    return BrokerConnection(Endpoint(host, int(port)), security or Security(), allowed=_ALLOWED)


def offset_commit(group: str, offsets: Mapping[TopicPartition, int]) -> Request:
    """Returns a commit from outside the group, as an operator's offset reset sends it."""

    def topic(w: Writer, item: tuple[TopicPartition, int]) -> None:
        (name, partition), offset = item
        w.string(name).i32(1).i32(partition).i64(offset).string("")

    w = Writer().string(group).i32(_FROM_OUTSIDE).string("").i64(_FROM_OUTSIDE)
    return Request(OFFSET_COMMIT, 2, w.array(list(offsets.items()), topic).done())


def committed(r: ByteReader) -> int:
    """Returns the first error code of the response to `offset_commit`, else 0."""

    def partition() -> int:
        r.i32()
        return r.i16()

    def topic() -> list[int]:
        r.string()
        return r.array(partition)

    return next((error for errors in r.array(topic) for error in errors if error), 0)
