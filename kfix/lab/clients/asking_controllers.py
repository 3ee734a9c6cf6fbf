"""Requests that only KRaft answers: the quorum, asked at one controller, and how far a broker follows its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka.codec import ByteReader, Writer
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.requests import API_VERSIONS, Request, api_versions
from kfix.adapters.kafka.security import Security
from kfix.errors import UnreachableError
from kfix.lab.clients.asking import DESCRIBE_TOPIC_PARTITIONS, UNREGISTER_BROKER, ask
from kfix.model.cluster.snapshot import Endpoint, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")

DESCRIBE_QUORUM = 55
_METADATA_TOPIC = "__cluster_metadata"
_SECONDS = 1.0
_MOST_PARTITIONS = 2000


@dataclass(frozen=True)
class QuorumState:
    """The answer of the active controller. `log_ends` is {voter: log end offset}; `followers` is that of brokers."""

    leader: int
    epoch: int
    high_watermark: int
    log_ends: dict[int, int]
    followers: dict[int, int]


@dataclass(frozen=True)
class Eligible:
    elr: tuple[int, ...]
    last_known: tuple[int, ...]


class _ControllerConnection(BrokerConnection):
    """A connection to the listener of a controller, which supports no Metadata."""

    def _check_versions(self, deadline: Deadline) -> None:
        self._exchange([api_versions()], deadline)


def quorum_seen_by(address: str, seconds: float = _SECONDS) -> QuorumState | None:
    """Returns what a controller answers as the active one; None if it is another one. Raises UnreachableError."""
    host, _, port = address.rpartition(":")
    allowed = frozenset({API_VERSIONS, DESCRIBE_QUORUM})
    with _ControllerConnection(Endpoint(host, int(port)), Security(), allowed=allowed) as line:
        return line.call(_describe_quorum(), _quorum, Deadline.after(seconds))


def active_controller(addresses: Mapping[int, str], seconds: float = _SECONDS) -> QuorumState | None:
    """Asks each controller, until one answers as the active one: only that one does. `addresses` is {id: address}."""
    for address in addresses.values():
        try:
            found = quorum_seen_by(address, seconds)
        except UnreachableError:
            continue
        if found is not None:
            return found
    return None


def applied_offset(address: str, seconds: float = _SECONDS) -> int:
    """Returns how far a broker has applied the quorum's log (`finalized_features_epoch`). Raises UnreachableError."""
    software = Writer().compact_string("kfix").compact_string("lab").no_tags().done()
    return ask(address, Request(API_VERSIONS, 3, software, flexible=True), _features_epoch, seconds)


def eligible_replicas(address: str, topics: Iterable[str], seconds: float = 5.0) -> dict[TopicPartition, Eligible]:
    """Returns the eligible leader replicas and last known leaders as a broker knows them. Raises UnreachableError."""
    w = Writer().compact_array(sorted(topics), lambda each, name: each.compact_string(name).no_tags())
    no_cursor = w.i32(_MOST_PARTITIONS).i8(-1).no_tags().done()
    return ask(address, Request(DESCRIBE_TOPIC_PARTITIONS, 0, no_cursor, flexible=True), _eligible, seconds)


def unregister(address: str, broker: int, seconds: float = 10.0) -> int:
    """Removes the registration of a dead broker. Returns the error code. Raises UnreachableError."""
    request = Request(UNREGISTER_BROKER, 0, Writer().i32(broker).no_tags().done(), flexible=True)
    return ask(address, request, _unregistered, seconds)


def _unregistered(r: ByteReader) -> int:
    r.i32()
    return r.i16()


def _describe_quorum() -> Request:
    def partition(w: Writer, index: int) -> None:
        w.i32(index).no_tags()

    def topic(w: Writer, name: str) -> None:
        w.compact_string(name).compact_array([0], partition).no_tags()

    return Request(DESCRIBE_QUORUM, 0, Writer().compact_array([_METADATA_TOPIC], topic).no_tags().done(), flexible=True)


def _quorum(r: ByteReader) -> QuorumState | None:
    found: list[QuorumState] = []

    def replica() -> tuple[int, int]:
        number, end = r.i32(), r.i64()
        r.tags()
        return number, end

    def partition() -> None:
        r.i32()
        error, leader, epoch, high = r.i16(), r.i32(), r.i32(), r.i64()
        state = QuorumState(leader, epoch, high, dict(r.compact_array(replica)), dict(r.compact_array(replica)))
        r.tags()
        if not error:
            found.append(state)

    def topic() -> None:
        r.compact_string()
        r.compact_array(partition)
        r.tags()

    if r.i16():
        return None
    r.compact_array(topic)
    return found[0] if found else None


def _features_epoch(r: ByteReader) -> int:
    # The header of this one response has no tags, so the connection took the first byte of the error code for them.
    r.i8()

    def api() -> None:
        r.i16()
        r.i16()
        r.i16()
        r.tags()

    r.compact_array(api)
    r.i32()
    for _ in range(r.uvarint()):
        tag, size = r.uvarint(), r.uvarint()
        if tag == 1:
            return r.i64()
        r.at += size
    return -1


def _eligible(r: ByteReader) -> dict[TopicPartition, Eligible]:
    found: dict[TopicPartition, Eligible] = {}

    def ids() -> tuple[int, ...]:
        return tuple(r.compact_array(r.i32))

    def topic() -> None:
        r.i16()
        name = r.compact_string()
        r.i64()
        r.i64()
        r.boolean()

        def partition() -> None:
            r.i16()
            where = TopicPartition(name, r.i32())
            r.i32()
            r.i32()
            ids()
            ids()
            found[where] = Eligible(ids(), ids())
            ids()
            r.tags()

        r.compact_array(partition)
        r.i32()
        r.tags()

    r.i32()
    r.compact_array(topic)
    return found
