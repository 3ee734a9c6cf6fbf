"""The four requests of Kafka's protocol the lab must send to one chosen broker, which no client library promises.

Versions are the oldest that carry what is needed; 2.4 to 4.x answer them.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
TopicPartition = tuple[str, int]

_METADATA, _OFFSET_COMMIT, _OFFSET_FETCH, _FIND_COORDINATOR = 3, 8, 9, 10
_CLIENT_ID = "kfix-lab"


@dataclass(frozen=True)
class SeenPartition:
    """One broker's opinion of a partition."""

    error: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True)
class Metadata:
    brokers: frozenset[int]
    controller: int
    partitions: Mapping[TopicPartition, SeenPartition]


class Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, code: str) -> int:
        size = struct.calcsize(f">{code}")
        value: int = struct.unpack_from(f">{code}", self._data, self._at)[0]
        self._at += size
        return value

    def text(self) -> str:
        length = self.number("h")
        if length < 0:
            return ""
        self._at += length
        return self._data[self._at - length : self._at].decode()

    def array(self, read: Callable[[], T]) -> list[T]:
        return [read() for _ in range(self.number("i"))]

    def ints(self) -> tuple[int, ...]:
        return tuple(self.array(lambda: self.number("i")))


def metadata(address: str, timeout: float = 2.0) -> Metadata:
    reader = _call(address, _METADATA, 7, struct.pack(">i?", -1, False), timeout)
    reader.number("i")  # throttle time

    def broker() -> int:
        number = reader.number("i")
        reader.text()
        reader.number("i")
        reader.text()
        return number

    brokers = frozenset(reader.array(broker))
    reader.text()  # cluster id
    controller = reader.number("i")

    def partition() -> tuple[int, SeenPartition]:
        error, number, leader, epoch = (reader.number(code) for code in "hiii")
        seen = SeenPartition(error, leader, epoch, replicas=reader.ints(), isr=reader.ints())
        reader.ints()  # offline replicas
        return number, seen

    def topic() -> list[tuple[TopicPartition, SeenPartition]]:
        reader.number("h")
        name = reader.text()
        reader.number("b")
        return [((name, number), seen) for number, seen in reader.array(partition)]

    partitions = dict(item for items in reader.array(topic) for item in items)
    return Metadata(brokers, controller, partitions)


def find_coordinator(address: str, group: str, timeout: float = 5.0) -> tuple[int, int]:
    """Error code and broker id."""
    reader = _call(address, _FIND_COORDINATOR, 1, _text(group) + struct.pack(">b", 0), timeout)
    reader.number("i")
    error = reader.number("h")
    reader.text()
    return error, reader.number("i")


def commit(address: str, group: str, offsets: Mapping[TopicPartition, int], timeout: float = 10.0) -> int:
    """A commit from outside the group, as an operator's offset reset makes it. The first error code, else 0."""
    topics = b"".join(
        _text(topic) + struct.pack(">iiq", 1, partition, offset) + _text("")
        for (topic, partition), offset in offsets.items()
    )
    body = _text(group) + struct.pack(">i", -1) + _text("") + struct.pack(">qi", -1, len(offsets)) + topics
    reader = _call(address, _OFFSET_COMMIT, 2, body, timeout)

    def result() -> int:
        reader.number("i")
        return reader.number("h")

    def topic() -> list[int]:
        reader.text()
        return reader.array(result)

    errors = [error for answers in reader.array(topic) for error in answers]
    return next((error for error in errors if error), 0)


def committed(address: str, group: str, where: TopicPartition, timeout: float = 5.0) -> tuple[int, int]:
    """Error code and offset (-1: none)."""
    body = _text(group) + struct.pack(">i", 1) + _text(where[0]) + struct.pack(">ii", 1, where[1])
    reader = _call(address, _OFFSET_FETCH, 1, body, timeout)
    reader.number("i")
    reader.text()
    reader.number("i")
    reader.number("i")
    offset = reader.number("q")
    reader.text()
    return reader.number("h"), offset


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _call(address: str, api: int, version: int, body: bytes, timeout: float) -> Reader:
    host, _, port = address.rpartition(":")
    request = struct.pack(">hhi", api, version, 1) + _text(_CLIENT_ID) + body
    with socket.create_connection((host, int(port)), timeout=timeout) as connection:
        connection.settimeout(timeout)
        connection.sendall(struct.pack(">i", len(request)) + request)
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        reader = Reader(_exactly(connection, size))
    reader.number("i")  # correlation id: one request a connection
    return reader


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(65536, size - len(data)))
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        data += chunk
    return bytes(data)
