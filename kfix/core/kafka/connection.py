"""One TCP connection to ONE broker, which changes nothing unless it was opened for that API.

After a timeout or an invalid response, the connection is closed and never used again: a late response must not be
mistaken for the response to the next request (docs/facts/kraft.md). Several threads may share one: they take turns.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from kfix.core.endpoint import connected
from kfix.core.errors import NoAnswerError, ReadOnlyViolationError, UnreachableError
from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codec import ByteReader, ProtocolError, encoder
from kfix.core.kafka.kraft_messages import API_VERSIONS, DESCRIBE_QUORUM, api_versions
from kfix.core.kafka.requests import METADATA, metadata
from kfix.core.kafka.security import Security
from kfix.core.ledger import Ledger, LineCounts
from kfix.core.snapshot.fleet_facts import Certificate
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from kfix.core.tls.peer import certificate_of

T = TypeVar("T")
#: The default of socket.request.max.bytes, and more than any response that kfix requests: the metadata of a million
#: partitions has 60 MB.
_LARGEST_ANSWER = 100 << 20
_HEAD = "api_key:i16 version:i16 correlation:i32 client:str"
#: The first two bytes of a TLS alert, where the length of a response is expected: its type, and TLS's major version.
_TLS_ALERTS = {0x1503}


class BrokerConnection:
    """A connection that sends read requests, and of the others only the APIs in `allowed`.

    `controller`: to the listener of a KRaft controller, which has no Metadata API.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        security: Security,
        *,
        allowed: Collection[Api] = (),
        ledger: Ledger | None = None,
        controller: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self._ledger = ledger or Ledger()
        self._counts = LineCounts()
        self._security = security
        self._allowed = allowed
        self._controller = controller
        self._socket: socket.socket | None = None
        self._correlation = 0
        self._let_in = False
        self._ranges: dict[int, tuple[int, int]] = {}
        self._lock = threading.RLock()
        #: Whether the server has ever accepted a connection: then something runs there, even if it never answers.
        self.accepted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """{API: (oldest, newest version)} that the server reported when the connection was opened."""
        return self._ranges

    @property
    def certificate(self) -> Certificate | None:
        """Returns the server's certificate; None without TLS, or if the connection is not open."""
        return certificate_of(self._socket)

    @property
    def is_open(self) -> bool:
        """False before the first call and after one that failed."""
        return self._socket is not None

    def close(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None
        self._let_in = False

    def call(self, request: Request[T], deadline: Deadline) -> T:
        return self.call_many([request], deadline)[0]

    def call_many(self, requests: Sequence[Request[T]], deadline: Deadline) -> list[T]:
        """Sends all requests, then reads all responses: Kafka answers the requests of a connection in order.

        Raises UnreachableError, and ReadOnlyViolationError for an API that is not allowed.
        """
        with self._turn(deadline):
            readers = self.exchange(requests, deadline)
            try:
                return [request.decode(reader) for request, reader in zip(requests, readers, strict=True)]
            except ProtocolError as error:
                self.close()
                raise ProtocolError(f"{self.endpoint}: {error}") from None

    @contextlib.contextmanager
    def _turn(self, deadline: Deadline) -> Iterator[None]:
        if not self._lock.acquire(timeout=deadline.left):
            raise NoAnswerError(f"{self.endpoint}: no answer in time")
        try:
            yield
        finally:
            self._lock.release()

    def supports(self, api_key: int, version: int, deadline: Deadline) -> bool:
        """Whether the broker supports this version of an API. Opens the connection if necessary."""
        return self.newest(api_key, version, deadline, at_least=version) == version

    def newest(self, api_key: int, most: int, deadline: Deadline, *, at_least: int = 0) -> int | None:
        """Returns the newest version of an API, between the two, that the server supports, or None.

        Opens the connection if necessary.
        """
        self.exchange((), deadline)
        low, high = self._ranges.get(api_key, (0, -1))
        version = min(high, most)
        return version if max(low, at_least) <= version else None

    def exchange(self, requests: Sequence[Request[Any]], deadline: Deadline) -> list[ByteReader]:
        for request in requests:
            self._check_allowed(request)
        with self._turn(deadline):
            try:
                if self._socket is None:
                    self._open(deadline)
                readers = self._exchange(requests, deadline) if requests else []
            except UnreachableError:
                self.close()
                raise
            except (OSError, UnicodeError) as error:
                self.close()
                kind = NoAnswerError if isinstance(error, TimeoutError) else UnreachableError
                raise kind(f"{self.endpoint}: {self._security.reason(error)}") from None
            self._let_in = self._let_in or bool(requests)
            return readers

    def _check_allowed(self, request: Request[Any]) -> None:
        if not request.api_key.reads and request.api_key not in self._allowed:
            raise ReadOnlyViolationError(
                f"{self.endpoint}: refused to send API {request.api_key} on a read-only connection"
            )
        # The last field of version 7, the last but one before the tags of newer ones.
        if request.api_key == METADATA and any(request.body[-4 if request.flexible else -1 :]):
            raise ReadOnlyViolationError(f"{self.endpoint}: refused to send Metadata with topic auto-creation")

    def _open(self, deadline: Deadline) -> None:
        plain = connected(self.endpoint, deadline.require(f"{self.endpoint}: connect"))
        self.accepted = True
        self._counts = self._ledger.connected(self.endpoint)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = self._security.wrap(plain, self.endpoint.host)
        self._check_versions(deadline)
        if self._security.mechanism:
            from kfix.core.kafka.sasl import authenticate  # noqa: PLC0415 - only a cluster with SASL needs it

            authenticate(
                self._security, lambda request: self._ask(request, deadline), str(self.endpoint), deadline.left
            )

    def _check_versions(self, deadline: Deadline) -> None:
        self._ranges = self._ask(api_versions(), deadline)
        if self._controller:
            if DESCRIBE_QUORUM not in self._ranges or METADATA in self._ranges:
                raise ProtocolError(f"{self.endpoint}: not the listener of a KRaft controller")
            return
        if METADATA not in self._ranges:
            raise ProtocolError(
                f"{self.endpoint}: not the listener of a broker (maybe of a KRaft controller): give the "
                "address of a broker"
            )
        low, high = self._ranges[METADATA]
        needed = metadata().version
        if not low <= needed <= high:
            raise ProtocolError(
                f"{self.endpoint}: supports Metadata {low} to {high}, kfix needs {needed} (Kafka 2.1 or newer)",
            )

    def _ask(self, request: Request[T], deadline: Deadline) -> T:
        return request.decode(self._exchange([request], deadline)[0])

    def _exchange(self, requests: Iterable[Request[Any]], deadline: Deadline) -> list[ByteReader]:
        first = self._correlation
        out, expected = [], []
        for request in requests:
            self._correlation += 1
            # ApiVersions has a flexible request and a plain header of the response, for clients of any version.
            expected.append((self._correlation, request.flexible and request.api_key != API_VERSIONS))
            out.append(_frame(request, self._correlation))
        line = self._line(deadline)
        data = b"".join(out)
        line.sendall(data)
        self._counts.requests += len(out)
        self._counts.sent += len(data)
        return [self._answer(correlation, flexible, deadline, fresh=first == 0) for correlation, flexible in expected]

    def _line(self, deadline: Deadline) -> socket.socket:
        assert self._socket is not None
        self._socket.settimeout(deadline.require(str(self.endpoint)))
        return self._socket

    def _answer(self, correlation: int, flexible: bool, deadline: Deadline, *, fresh: bool) -> ByteReader:
        size = struct.unpack(">i", self._read(4, deadline, fresh=fresh))[0]
        if size >> 16 in _TLS_ALERTS:
            raise UnreachableError(
                f"{self.endpoint}: it requires TLS: set security.protocol=SSL or SASL_SSL (--command-config)"
            )
        if not 4 <= size <= _LARGEST_ANSWER:
            raise ProtocolError(f"{self.endpoint}: the server does not speak the Kafka protocol")
        reader = ByteReader(self._read(size, deadline, fresh=fresh))
        if reader.i32() != correlation:
            raise ProtocolError(f"{self.endpoint}: the server does not speak the Kafka protocol")
        if flexible:
            reader.tags()
        return reader

    def _read(self, size: int, deadline: Deadline, *, fresh: bool) -> bytes:
        parts, left = [], size
        while left:
            part = self._line(deadline).recv(min(left, 1 << 20))
            if not part:
                raise UnreachableError(f"{self.endpoint}: closed the connection{self._why_closed(fresh=fresh)}")
            parts.append(part)
            self._counts.received += len(part)
            left -= len(part)
        return b"".join(parts)

    def _why_closed(self, *, fresh: bool) -> str:
        if fresh:
            return "; not a Kafka broker, or it requires TLS or SASL (--command-config)"
        if not self._let_in and not self._security.mechanism:
            # A SASL listener answers ApiVersions without authentication, and closes the connection on any other
            # request.
            return "; it requires SASL (--command-config), or is shutting down"
        return ""


def _frame(request: Request[Any], correlation: int) -> bytes:
    head = encoder(_HEAD).write((request.api_key, request.version, correlation, request.client))
    body = head + (b"\0" if request.flexible else b"") + request.body
    return struct.pack(">i", len(body)) + body
