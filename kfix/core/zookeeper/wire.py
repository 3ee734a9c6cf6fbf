"""A ZooKeeper client that can only read: it implements no write request. One connection, pipelined requests.

It exists for pipelining: 15 000 to 20 000 reads per second instead of 4 000 to 5 000 with kazoo's `get_async`, or 0.6 s
instead of 2.2 s for 10 000 partitions (docs/adr/002). Opening a session is a transaction of the ensemble; no other
request is.

Source: jute records of ZooKeeper 3.5 to 3.9 (`ConnectRequest`, `RequestHeader`, `GetDataRequest`, `ZnodeStat`).
"""

import contextlib
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import NamedTuple, Self

from kfix.core.errors import UnreachableError
from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.zookeeper.access import OPEN, ZooKeeperAccess

_EXISTS, _GET_DATA, _SYNC, _GET_CHILDREN = 3, 4, 9, 12
_CLOSE = -11
NO_NODE, NO_AUTH = -101, -102
_SESSION_MS = 30_000

_CONNECT = struct.Struct(">iqiqi16s?")
_HEADER = struct.Struct(">ii")
_REPLY = struct.Struct(">iqi")
_STAT = struct.Struct(">qqqqiiiqiiq")
#: ZooKeeper's own limit of a response (jute.maxbuffer) is 1 MiB by default.
LARGEST_ANSWER = 64 << 20
_LARGEST_WORD = 1 << 20


class ZnodeStat(NamedTuple):
    """The stat of a znode; times in milliseconds since the epoch, by ZooKeeper's clock."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    owner: int
    length: int
    n_children: int
    pzxid: int


NO_STAT = ZnodeStat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """An existing znode: its data, its children if requested, and its stat."""

    data: bytes
    children: tuple[str, ...]
    stat: ZnodeStat


@dataclass(frozen=True, slots=True)
class Read:
    kind: int
    path: str


def get(path: str) -> Read:
    return Read(_GET_DATA, path)


def children(path: str) -> Read:
    return Read(_GET_CHILDREN, path)


def exists(path: str) -> Read:
    return Read(_EXISTS, path)


def sync(path: str) -> Read:
    """Makes this server catch up with the leader before the following reads (docs/facts/network-partitions.md)."""
    return Read(_SYNC, path)


class ZooKeeperLine:
    """One session with one server. `read_only` is True if the server reports that it has no quorum."""

    def __init__(
        self, endpoint: Endpoint, deadline: Deadline, ledger: Ledger | None = None, access: ZooKeeperAccess = OPEN
    ) -> None:
        self.endpoint = endpoint
        self.access = access
        self.ledger = ledger or Ledger()
        #: Whether the server is known to have multiRead, which would end the session of an older one.
        self.multi_read = False
        #: Whether the server has closed the connection.
        self.ended = False
        #: The last transaction that the server had applied when it answered `read`, -1 before that.
        self.zxid = -1
        #: The id of the session, and this host's time when the server had accepted the connection.
        self.session, self.opened_at = 0, 0.0
        self._xid = 0
        self._buffer = b""
        self._at = 0
        try:
            self.socket = access.open(endpoint, deadline.require(f"{endpoint}: connect"))
        except (OSError, UnicodeError) as error:
            raise UnreachableError(f"zookeeper {endpoint}: {access.reason(error)}") from None
        self._counts, self.opened_at = self.ledger.connected(endpoint), time.time()
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.read_only = self._handshake(deadline)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        # Without this, the ensemble would keep the idle session for 30 s; a failure does not matter.
        with contextlib.suppress(OSError):
            self.socket.sendall(struct.pack(">iii", 8, 0, _CLOSE))
        self.socket.close()

    def _handshake(self, deadline: Deadline) -> bool:
        body = _CONNECT.pack(0, 0, _SESSION_MS, 0, 16, bytes(16), True)
        self.send(struct.pack(">i", len(body)) + body, deadline)
        answer = self.frame(deadline, first=True)
        if len(answer) < 36:
            raise UnreachableError(f"zookeeper {self.endpoint}: the server is not ZooKeeper")
        timeout, self.session = struct.unpack_from(">iq", answer, 4)
        if timeout <= 0:
            raise UnreachableError(f"zookeeper {self.endpoint}: refused the session")
        if self.access.logs_in:
            from kfix.core.zookeeper.access import log_in  # noqa: PLC0415 - only who logs in needs it

            log_in(self, deadline)
        return len(answer) > 36 and answer[36] != 0

    def read(self, requests: Sequence[Read], deadline: Deadline) -> list[Node | None]:
        """Returns one result per request, in order, None if the znode does not exist.

        Raises UnreachableError for a timeout, a broken response or missing permission.
        """
        first = self.xids(len(requests))
        self.send(b"".join(map(_request, requests, count(first))), deadline)
        replies = zip(requests, count(first), strict=False)
        return [self._result(request, self._reply(request, xid, deadline)) for request, xid in replies]

    def _reply(self, request: Read, expected: int, deadline: Deadline) -> bytes | None:
        while True:
            answer = self.frame(deadline)
            if len(answer) < _REPLY.size:
                raise UnreachableError(f"zookeeper {self.endpoint}: the server is not ZooKeeper")
            xid, zxid, error = _REPLY.unpack_from(answer)
            if xid >= 0:
                break
        if xid != expected:
            raise self.wrong_answer(request.path)
        self.zxid = zxid
        if error == NO_NODE:
            return None
        if error == NO_AUTH:
            raise UnreachableError(f"zookeeper {self.endpoint}: {self.access.not_allowed('read', request.path)}")
        if error:
            why = "did not catch up with the leader: " if request.kind == _SYNC else ""
            raise UnreachableError(f"zookeeper {self.endpoint}: {why}error {error} for {request.path}")
        return answer

    def _result(self, request: Read, answer: bytes | None) -> Node | None:
        if answer is None or request.kind == _SYNC:
            return None
        at = _REPLY.size
        data = b""
        names: tuple[str, ...] = ()
        try:
            if request.kind == _GET_DATA:
                data, at = _blob(answer, at)
            elif request.kind == _GET_CHILDREN:
                names, at = _names(answer, at)
            return Node(data, names, ZnodeStat._make(_STAT.unpack_from(answer, at)))
        except struct.error:
            raise self.broken_answer(request.path) from None

    def xids(self, count: int) -> int:
        """Reserves the ids of `count` requests and returns the first of them."""
        self._xid += count
        self._counts.requests += count
        return self._xid - count + 1

    def rest(self) -> bytes:
        """Takes the bytes that were received and not used yet."""
        rest, self._buffer, self._at = self._buffer[self._at :], b"", 0
        return rest

    def receive(self, deadline: Deadline, *, first: bool = False) -> bytes:
        """Returns what has arrived, at least one byte. Raises UnreachableError at the end of the connection."""
        try:
            self.socket.settimeout(deadline.require(f"zookeeper {self.endpoint}"))
            part = self.socket.recv(1 << 18)
        except OSError as error:
            self.ended = isinstance(error, ConnectionError)
            raise UnreachableError(f"zookeeper {self.endpoint}: {self.access.reason(error)}") from None
        if not part:
            self.ended = True
            why = f": {self.access.closed_at_once}" if first else ""
            raise UnreachableError(f"zookeeper {self.endpoint}: closed the connection{why}")
        self._counts.received += len(part)
        return part

    def wrong_answer(self, path: str) -> UnreachableError:
        return UnreachableError(f"zookeeper {self.endpoint}: answered a different request than {path}")

    def broken_answer(self, path: str) -> UnreachableError:
        return UnreachableError(f"zookeeper {self.endpoint}: a broken response for {path}")

    def send(self, data: bytes, deadline: Deadline) -> None:
        try:
            self.socket.settimeout(deadline.require(f"zookeeper {self.endpoint}"))
            self.socket.sendall(data)
            self._counts.sent += len(data)
        except OSError as error:
            raise UnreachableError(f"zookeeper {self.endpoint}: {self.access.reason(error)}") from None

    def frame(self, deadline: Deadline, *, first: bool = False) -> bytes:
        size = struct.unpack(">i", self._bytes(4, deadline, first=first))[0]
        if not 0 <= size <= LARGEST_ANSWER:
            raise UnreachableError(f"zookeeper {self.endpoint}: the server is not ZooKeeper")
        return self._bytes(size, deadline, first=first)

    def _bytes(self, size: int, deadline: Deadline, *, first: bool) -> bytes:
        # A large response is joined once, at its end: joining piece by piece would copy it a hundred times.
        parts, there = [self._buffer[self._at :]], len(self._buffer) - self._at
        if there >= size:
            self._at += size
            return self._buffer[self._at - size : self._at]
        while there < size:
            part = self.receive(deadline, first=first)
            parts.append(part)
            there += len(part)
        # Consumed bytes are skipped by `_at`: moving the rest after each frame would copy the buffer 2 000 times.
        self._buffer, self._at = b"".join(parts), size
        return self._buffer[:size]


def _request(request: Read, xid: int) -> bytes:
    path = request.path.encode()
    body = _HEADER.pack(xid, request.kind) + struct.pack(">i", len(path)) + path
    if request.kind != _SYNC:
        body += b"\0"
    return struct.pack(">i", len(body)) + body


def _blob(data: bytes, at: int) -> tuple[bytes, int]:
    """Returns the bytes and the position after them. Raises struct.error if the length exceeds the data."""
    size = max(0, struct.unpack_from(">i", data, at)[0])
    if size > len(data) - at - 4:
        raise struct.error("a length beyond the end")
    return data[at + 4 : at + 4 + size], at + 4 + size


def _names(data: bytes, at: int) -> tuple[tuple[str, ...], int]:
    count = struct.unpack_from(">i", data, at)[0]
    at += 4
    if count > (len(data) - at) // 4:  # each name has a length of 4 bytes
        raise struct.error("more names than there are bytes")
    names = []
    for _ in range(count):
        raw, at = _blob(data, at)
        names.append(raw.decode("utf-8", "replace"))
    return tuple(names), at


def four_letter_word(
    endpoint: Endpoint, word: bytes, deadline: Deadline, ledger: Ledger | None = None, access: ZooKeeperAccess = OPEN
) -> str:
    """Returns the answer to a four-letter word. Only `srvr` is allowed by default; it is read-only."""
    try:
        with access.open(endpoint, deadline.require(str(endpoint))) as line:
            counts = (ledger or Ledger()).connected(endpoint)
            line.sendall(word)
            counts.requests, counts.sent = 1, len(word)
            parts: list[bytes] = []
            while sum(map(len, parts)) < _LARGEST_WORD:
                line.settimeout(deadline.require(f"zookeeper {endpoint}"))
                part = line.recv(1 << 16)
                if not part:
                    return b"".join(parts).decode("utf-8", "replace")
                parts.append(part)
                counts.received += len(part)
            raise UnreachableError(f"zookeeper {endpoint}: the server is not ZooKeeper")
    except (OSError, UnicodeError) as error:
        raise UnreachableError(f"zookeeper {endpoint}: {access.reason(error)}") from None
